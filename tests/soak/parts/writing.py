"""The producer: idempotent, keyed, compressed; numbers at a steady rate, one by one and in batches.

Each acknowledged number is a row (number, partition, offset) of `acknowledged`. Faults are shorter
than `delivery.timeout.ms`, so that a number that fails is not expected.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

import pyarrow as pa

import ottla
from tests.soak.ledger import Ledger
from tests.soak.part import Part, run_part
from tests.soak.settings import NUMBERS, key_of, value_of

_TICK = 0.05
_LONGEST = 150.0
"""Seconds after which a call must have its results: `delivery.timeout.ms` is 120 s."""


def ticks(part: Part, rate: float) -> Iterator[range]:
    """Yield the numbers of each tick until the part stops, those of delayed ticks at once."""
    started, first = time.monotonic(), 0
    while not part.stop.wait(_TICK):
        end = int((time.monotonic() - started) * rate)
        # After a long block, the clients that read need not catch up with all of it at once.
        yield range(first, min(end, first + int(rate)))
        if end - first > rate:
            started += (end - first) / rate - 1
        first = min(end, first + int(rate))


class Writer:
    """Sends numbers, and writes down which are acknowledged, in the order of the calls."""

    def __init__(self, part: Part, producer: ottla.Producer, ledger: Ledger) -> None:
        self._part, self._producer, self._ledger = part, producer, ledger
        self._pending: deque[tuple[range, ottla.Delivery | ottla.BatchDelivery]] = deque()
        self._first, self._first_since = -1, 0.0
        part.gauges["pending calls"] = lambda: len(self._pending)

    def send(self, numbers: range) -> None:
        """Send numbers one by one."""
        for number in numbers:
            delivery = self._producer.send(NUMBERS, value_of(number), key_of(number))
            self._pending.append((range(number, number + 1), delivery))

    def send_batch(self, numbers: range) -> None:
        """Send numbers with one call."""
        values, keys = [value_of(n) for n in numbers], [key_of(n) for n in numbers]
        self._pending.append((numbers, self._producer.send_batch(NUMBERS, values, keys)))

    def collect(self) -> None:
        """Write down the numbers of the calls that are done."""
        while self._pending and self._pending[0][1].done():
            numbers, delivery = self._pending.popleft()
            if isinstance(delivery, ottla.BatchDelivery):
                self._collect_batch(numbers, delivery)
            elif error := delivery.exception():
                self._fail(1, error)
            else:
                done = delivery.result()
                self._acknowledge(numbers.start, done.partition, done.offset)

    def check_progress(self) -> None:
        """Report the oldest call, once, if it has no results although its time is over."""
        first = self._pending[0][0].start if self._pending else -1
        if first != self._first:
            self._first, self._first_since = first, time.monotonic()
        elif first >= 0 and time.monotonic() - self._first_since > _LONGEST:
            self._first_since = float("inf")
            done = sum(delivery.done() for _, delivery in self._pending)
            producer = self._producer
            self._part.unexpected(
                TimeoutError(
                    f"{first} has no result after {_LONGEST:.0f} s; of {len(self._pending)} calls,"
                    f" {done} have; {producer.unacknowledged_records} records without a result;"
                    f" {producer.metrics()}; {producer.connections()};"
                    f" {producer.request_statistics()}; {producer.topic_metrics()}"
                )
            )

    def _collect_batch(self, numbers: range, delivery: ottla.BatchDelivery) -> None:
        failed = set[int]()
        for index, count, error in delivery.errors():
            failed.update(range(index, index + count))
            self._fail(count, error)
        rows = zip(
            numbers,
            pa.array(delivery.partitions()).to_pylist(),
            pa.array(delivery.offsets()).to_pylist(),
            strict=True,
        )
        for index, (number, partition, offset) in enumerate(rows):
            if index not in failed:
                self._acknowledge(number, partition, offset)

    def _acknowledge(self, number: int, partition: int, offset: int | None) -> None:
        # A duplicate that the broker no longer remembers has no offset.
        self._ledger.add(number, partition, -1 if offset is None else offset)
        self._part.counts["acknowledged"] += 1

    def _fail(self, count: int, error: BaseException) -> None:
        self._part.counts["failed"] += count
        self._part.unexpected(error)


def work(part: Part) -> None:
    """Send until the run stops; the end waits for all acknowledgements."""
    config = {"compression.type": "zstd", "linger.ms": 20, "client.id": "soak-writing"}
    with ottla.Producer(part.settings.gateway, config) as producer:
        part.gauges["buffered bytes"] = lambda: producer.buffered_bytes
        writer = Writer(part, producer, part.ledger("acknowledged", 3))
        for turn, numbers in enumerate(ticks(part, part.settings.rate)):
            if numbers:
                (writer.send_batch if turn % 2 else writer.send)(numbers)
                part.counts["sent"] += len(numbers)
            writer.collect()
            writer.check_progress()
        producer.flush(timeout=150)
        writer.collect()
        part.report("closing")


if __name__ == "__main__":
    run_part("writing", work)
