"""The traffic of a simulation: a producer and a consumer over one client, each in its own thread.

Invariant: an exception becomes a comment, and the traffic continues until it is closed; the topic
keeps a bounded number of records.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import ottla
from ottla import Client, Consumer, Producer, Record
from ottla.console.simulation.cluster import SimulatedCluster
from ottla.console.simulation.commentary import Commentary
from ottla.console.simulation.layout import GROUP, TOPIC
from ottla.console.simulation.tally import Proof, Tally
from ottla.errors import ClosedError, KafkaError, described

_log = logging.getLogger(__name__)

# Effects show within seconds. A delivery only fails by its timeout, which is long.
CONFIG: dict[str, Any] = {
    "client.id": "simulation",
    "request.timeout.ms": 3_000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "retry.backoff.max.ms": 500,
    "linger.ms": 20,
    "buffer.memory": 262_144,
    "max.block.ms": 2_000,
    "delivery.timeout.ms": 2_147_483_647,
    "group.id": GROUP,
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 500,
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 500,
}
RECORDS_PER_SECOND = 300

# Seconds between groups of records.
_TICK = 0.02
_VALUE_BYTES = 400
# The records that each partition keeps behind the consumer, and the seconds between deletions.
_KEPT_RECORDS = 2_000
_DELETE_INTERVAL = 5.0
# Seconds until the traffic continues after an exception.
_PAUSE = 0.5
_CLOSE_TIMEOUT = 3.0


class Traffic:
    """Traffic on the topic ``orders``, from its creation until ``close()``.

    Args:
        cluster: the cluster.
        commentary: the commentary, which shows exceptions.
    """

    def __init__(self, cluster: SimulatedCluster, commentary: Commentary) -> None:
        self._cluster = cluster
        self._commentary = commentary
        self._partitions = len(cluster.layout.replicas)
        self.tally = Tally(self._partitions)
        self._closing = threading.Event()
        self._sends = threading.Event()
        self._idle = threading.Event()
        self.client = Client(cluster.mock.bootstrap, CONFIG)
        self.producer = Producer(self.client)
        self.consumer: Consumer[Any, Any] = Consumer(self.client)
        self._threads = [
            threading.Thread(target=self._produce, name="ottla-simulation-producer", daemon=True),
            threading.Thread(target=self._consume, name="ottla-simulation-consumer", daemon=True),
        ]

    def start(self) -> None:
        """Start the threads."""
        self._sends.set()
        for thread in self._threads:
            thread.start()

    def pause(self, timeout: float) -> bool:
        """Send no more records until ``resume()``; return whether the producer has paused."""
        self._sends.clear()
        return self._idle.wait(timeout)

    def resume(self) -> None:
        """Send records again."""
        self._idle.clear()
        self._sends.set()

    def proof(self) -> Proof:
        """Return the counts of the records so far."""
        return self.tally.proof(self._cluster.written())

    def close(self) -> None:
        """End the threads, and close the client. Its cluster must be able to respond."""
        self._closing.set()
        self._sends.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_CLOSE_TIMEOUT)
        for end in (self.consumer.close, self.producer.close, self.client.close):
            try:
                end(timeout=_CLOSE_TIMEOUT)
            except KafkaError as error:
                _log.warning("the simulation was not closed cleanly: %s", error)

    def _produce(self) -> None:
        number = 0
        due = time.monotonic()
        while not self._closing.is_set():
            if not self._sends.is_set():
                self._idle.set()
                self._sends.wait(_PAUSE)
                due = time.monotonic()
                continue
            # Records that were not sent during a wait are not sent later.
            due = max(due + _TICK, time.monotonic() - 10 * _TICK)
            for _ in range(int(RECORDS_PER_SECOND * _TICK)):
                self._send(number % self._partitions)
                number += 1
            self._closing.wait(max(0.0, due - time.monotonic()))
        self._idle.set()

    def _send(self, partition: int) -> None:
        """Send one record, and retry until it is accepted."""
        number = self.tally.next_number(partition)
        value = json.dumps({"number": number, "amount": number % 97, "text": ""}).encode()
        value = value[:-2] + b"." * (_VALUE_BYTES - len(value)) + value[-2:]
        while not self._closing.is_set():
            try:
                self.producer.send(
                    TOPIC,
                    value,
                    key=f"customer-{partition}".encode(),
                    partition=partition,
                    on_delivery=self._on_delivery(partition),
                )
            except ottla.errors.TimeoutError as error:
                self._commentary.note(
                    f"send() raised TimeoutError: {error}. This record was not sent; the "
                    "application sends it again.",
                    key="send timeout",
                    every=5.0,
                )
            except ClosedError:
                return
            except Exception as error:  # noqa: BLE001 - the traffic goes on
                self._failed("send()", error)
            else:
                self.tally.on_sent(partition)
                return

    def _on_delivery(self, partition: int) -> ottla._core.aliases.DeliveryCallback:
        def delivered(error: KafkaError | None, _: object) -> None:
            self.tally.on_delivery(partition, error)
            if error is not None and not self._closing.is_set():
                self._commentary.note(f"A record failed: {error}", key="failed", every=5.0)

        return delivered

    def _consume(self) -> None:
        self.consumer.subscribe(
            [TOPIC], on_assigned=self._assigned, on_revoked=self._revoked, on_lost=self._lost
        )
        deleted = time.monotonic()
        while not self._closing.is_set():
            try:
                for record in self.consumer.poll(timeout=0.2):
                    self._read(record)
                if time.monotonic() - deleted > _DELETE_INTERVAL:
                    deleted = time.monotonic()
                    self._delete_old_records()
            except ClosedError:
                return
            except Exception as error:  # noqa: BLE001 - the traffic goes on
                self._failed("poll()", error)

    def _read(self, record: Record[Any, Any]) -> None:
        try:
            number = int(json.loads(record.value)["number"])
        except (TypeError, ValueError, KeyError) as error:
            where = f"{TOPIC}-{record.partition} at offset {record.offset}"
            self._commentary.note(
                f"The record of {where} is not of this producer: {described(error)}"
            )
        else:
            self.tally.on_read(record.partition, record.offset, number)

    def _delete_old_records(self) -> None:
        for partition in range(self._partitions):
            before = self.tally.position(partition) - _KEPT_RECORDS
            if before > 0:
                self._cluster.mock.delete_records(TOPIC, partition, before)

    def _assigned(self, _: object, partitions: list[tuple[str, int]]) -> None:
        self._commentary.note(
            f"The consumer joined the group {GROUP}, and was assigned {_names(partitions)}. It "
            "continues at the committed offsets."
        )

    def _revoked(self, _: object, partitions: list[tuple[str, int]]) -> None:
        self._commentary.note(
            f"A rebalance takes {_names(partitions)} from the consumer, which learns so before "
            "anyone else reads them, and commits first."
        )

    def _lost(self, _: object, partitions: list[tuple[str, int]]) -> None:
        self._commentary.note(
            f"The consumer has lost {_names(partitions)}: the coordinator does not know it as a "
            "member any more (UNKNOWN_MEMBER_ID). It may not commit; what it has read since its "
            "last commit will be read again. It joins again with its next poll."
        )

    def _failed(self, call: str, error: Exception) -> None:
        if self._closing.is_set():
            return
        if not isinstance(error, KafkaError):
            _log.error("the traffic of the simulation has failed", exc_info=error)
        self._commentary.note(
            f"{call} raised {described(error)}. The application goes on.",
            key=f"{call} {type(error).__name__}",
            every=5.0,
        )
        self._closing.wait(_PAUSE)


def _names(partitions: list[tuple[str, int]]) -> str:
    if not partitions:
        return "no partition"
    return f"{TOPIC}-" + ", ".join(str(index) for _, index in sorted(partitions))
