"""A workload that writes a history: transactional producers, and a consumer of what they commit.

Each producer is a thread; a seed decides what it does. Invariant: an outcome is recorded as known
only if a call has confirmed it.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import ottla
from ottla.errors import KafkaError, TimeoutError  # noqa: A004 (the module's name)
from tests.history.events import End, History, Outcome, Poll, Seek, Send, Transaction

# Of one producer before the next one takes over its transactional id.
_LIFETIMES = 2
_TIMEOUT = 120.0


class TransactionalWriter(threading.Thread):
    """Sends transactions, and records the outcome of each."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        name: str,
        history: History,
        seed: int,
        *,
        transactions: int,
        config: Mapping[str, str],
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._servers = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._history = history
        self._random = random.Random(seed)
        self._left = transactions
        self._config = {**config, "transactional.id": f"{topic}-{name}"}
        self._sent = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        """Send all transactions; a producer that cannot go on has a successor."""
        try:
            while self._left > 0:
                self._run_producer(max(1, self._left // _LIFETIMES))
        except BaseException as error:  # noqa: BLE001 (reported by the test)
            self.error = error

    def _run_producer(self, transactions: int) -> None:
        producer = ottla.Producer(self._servers, self._config)
        try:
            _settle(producer.init_transactions)
            for _ in range(transactions):
                self._left -= 1
                if not self._transaction(producer):
                    return
        finally:
            with suppress(KafkaError):
                producer.close()

    def _transaction(self, producer: ottla.Producer) -> bool:
        """Send one transaction; returns whether the producer can go on."""
        sends: list[tuple[int, str, ottla.Delivery | None]] = []
        fails = self._random.random() < 0.25
        outcome: Outcome = "unknown"
        can_continue = False
        try:
            producer.begin_transaction()
            for _ in range(self._random.randrange(1, 7)):
                partition = self._random.randrange(self._partitions)
                value = f"{self.name}-{self._sent}"
                self._sent += 1
                # Recorded first: a record may be in the log although its send failed.
                sends.append((partition, value, None))
                delivery = producer.send(self._topic, value, partition=partition)
                sends[-1] = (partition, value, delivery)
            if self._random.random() < 0.5:
                # Otherwise, an abort mostly finds records that were not sent yet.
                producer.flush()
            outcome, can_continue = _end(producer, commit=not fails), True
        except KafkaError as error:
            if not error.fatal:
                with suppress(KafkaError):
                    outcome, can_continue = _end(producer, commit=False), True
        finally:
            recorded = tuple(
                Send(partition, value, _offset(delivery)) for partition, value, delivery in sends
            )
            self._history.add(Transaction(self.name, recorded, outcome))
        return can_continue


def _end(producer: ottla.Producer, *, commit: bool) -> Outcome:
    if commit:
        _settle(producer.commit_transaction)
        return "committed"
    _settle(producer.abort_transaction)
    return "aborted"


def _settle(call: object) -> None:
    """Repeat a call that timed out: it continues, and the next one waits for the same outcome."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        try:
            call()  # type: ignore[operator]
        except TimeoutError:
            if time.monotonic() > deadline:
                raise
        else:
            return


def _offset(delivery: ottla.Delivery | None) -> int | None:
    if delivery is None or not delivery.done():
        return None
    try:
        return delivery.result(timeout=0).offset
    except KafkaError:
        return None


class Reader(threading.Thread):
    """Polls what is visible until it is stopped."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        history: History,
        *,
        isolation_level: str = "read_committed",
    ) -> None:
        super().__init__(name="reader", daemon=True)
        self._arguments = bootstrap, topic, partitions
        self._history = history
        self._isolation_level = isolation_level
        self._stopped = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Poll, then read the rest."""
        try:
            self._read()
        except BaseException as error:  # noqa: BLE001 (reported by the test)
            self.error = error

    def _read(self) -> None:
        bootstrap, topic, count = self._arguments
        partitions = [(topic, partition) for partition in range(count)]
        config = {"isolation.level": self._isolation_level, "auto.offset.reset": "earliest"}
        with ottla.Consumer(bootstrap, config, fetch_max_wait_ms=20) as consumer:
            consumer.assign(partitions)
            self._history.add(Seek(self.name, dict.fromkeys(range(count), 0)))
            while not self._stopped.is_set():
                self._poll(consumer)
            ends = _high_watermarks(bootstrap, partitions)
            deadline = time.monotonic() + _TIMEOUT
            while any(consumer.position(*place) < end for place, end in ends.items()):
                assert time.monotonic() < deadline, f"the end is not reached: {ends}"
                self._poll(consumer)
            by_partition = {partition: end for (_, partition), end in ends.items()}
            self._history.add(End(self.name, by_partition))

    def _poll(self, consumer: ottla.Consumer[bytes, bytes]) -> None:
        records = tuple(
            (record.partition, record.offset, (record.value or b"").decode())
            for record in consumer.poll(timeout=0.05)
        )
        if records:
            self._history.add(Poll(self.name, records))

    def stop(self) -> None:
        """Read what is there, and end."""
        self._stopped.set()


def _high_watermarks(
    bootstrap: str, partitions: list[tuple[str, int]]
) -> dict[tuple[str, int], int]:
    """Look up where the log ends; the last stable offset may lack transactions just committed."""
    with ottla.Client(bootstrap) as client:
        latest = dict.fromkeys(partitions, "latest")
        found = client.list_offsets(latest, isolation_level="read_uncommitted")
        return {place: offset.offset or 0 for place, offset in found.items()}


def run_workload(
    bootstrap: str,
    topic: str,
    partitions: int,
    seed: int,
    *,
    writers: int = 2,
    transactions: int = 8,
    config: Mapping[str, str] | None = None,
    isolation_level: str = "read_committed",
) -> History:
    """Run writers and a reader to their end, and return what happened."""
    history = History()
    reader = Reader(bootstrap, topic, partitions, history, isolation_level=isolation_level)
    threads = [
        TransactionalWriter(
            bootstrap,
            topic,
            partitions,
            f"writer{number}",
            history,
            seed * 31 + number,
            transactions=transactions,
            config=config or {},
        )
        for number in range(writers)
    ]
    reader.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader.stop()
    reader.join()
    for error in (*(thread.error for thread in threads), reader.error):
        if error is not None:
            raise error
    return history
