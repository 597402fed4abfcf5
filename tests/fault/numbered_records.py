"""Numbered, keyed records: writes them with ottla, reads them back with Java, and compares the
topic with ottla's reports."""

from __future__ import annotations

import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

import ottla
from ottla.errors import KafkaError
from tests.support.kafka_cluster import KafkaCluster

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
KEYS = 997


class Record(NamedTuple):
    """A record as Java reads it."""

    partition: int
    offset: int
    key: bytes
    number: int


@dataclass
class Report:
    """ottla's report about the records of one producer, by number."""

    sent: int = 0
    """The number of records sent."""
    failed: set[int] = field(default_factory=set)
    """The failed records."""
    unknown: set[int] = field(default_factory=set)
    """Failed records that may have been written: their error has `maybe_done`."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed records by error class and Kafka's error name."""
    partitions: array[int] = field(default_factory=lambda: array("i"))
    """The partition of each record, -1 if it is unknown."""
    offsets: array[int] = field(default_factory=lambda: array("q"))
    """The offset of each acknowledged record, -1 if ottla does not know it."""

    def add(self, first: int, delivery: ottla.BatchDelivery) -> None:
        """Add the results of a batch, the next one, whose first record has the number `first`."""
        failures: list[tuple[int, int, KafkaError]] = delivery.errors()
        self.partitions.extend(pa.array(delivery.partitions()).fill_null(-1).to_pylist())
        self.offsets.extend(pa.array(delivery.offsets()).fill_null(-1).to_pylist())
        for index, count, error in failures:
            numbers = range(first + index, first + index + count)
            self.failed.update(numbers)
            if error.maybe_done:
                self.unknown.update(numbers)
            self.errors[f"{type(error).__name__}({error.name})"] += count


@dataclass
class Comparison:
    """How the records of a topic differ from what ottla reported of them."""

    lost: list[int] = field(default_factory=list)
    """Acknowledged, but not in the topic."""
    duplicates: list[int] = field(default_factory=list)
    """In the topic more than once; one entry per additional copy."""
    out_of_order: list[tuple[int, int]] = field(default_factory=list)
    """Behind a later record of their key: both numbers."""
    unexpected: list[int] = field(default_factory=list)
    """In the topic, though reported as failed and not written."""
    misplaced: list[str] = field(default_factory=list)
    """Acknowledged with an offset other than the one that Java reads."""
    at_offsets_of_lost: list[str] = field(default_factory=list)
    """The records at the offsets of lost records."""
    found_unknown: int = 0
    """Records that failed with `maybe_done`, and are in the topic."""

    def check(self, name: str) -> None:
        """Fail if a record was lost, duplicated, moved behind a later one, or misreported."""
        assert not self.lost, (
            f"{name}: {len(self.lost)} acknowledged records are lost;"
            f" at their offsets, the topic has: {_few(self.at_offsets_of_lost)}"
        )
        assert not self.duplicates, (
            f"{name}: {len(self.duplicates)} copies, {_few(self.duplicates)}"
        )
        assert not self.out_of_order, (
            f"{name}: {len(self.out_of_order)} records are behind a later one of their key,"
            f" {_few(self.out_of_order)}"
        )
        assert not self.unexpected, (
            f"{name}: {len(self.unexpected)} records were reported as not written and are in the"
            f" topic, {_few(self.unexpected)}"
        )


def key_of(number: int) -> bytes:
    """Return the key of a record."""
    return b"key-%d" % (number % KEYS)


def chunks(size: int, pause: float, more: Callable[[int], bool]) -> Iterator[range]:
    """Yield ranges of `size` numbers, `pause` seconds apart, while `more(first)` holds."""
    first = 0
    while more(first):
        yield range(first, first + size)
        time.sleep(pause)
        first += size


def write(
    bootstrap: str, topic: str, numbers: Iterable[range], config: dict[str, str | int]
) -> Report:
    """Send each range of numbers as one batch, and report which records failed."""
    report = Report()
    pending: deque[tuple[int, ottla.BatchDelivery]] = deque()
    with ottla.Producer(bootstrap, config) as producer:
        for chunk in numbers:
            keys = [key_of(number) for number in chunk]
            values = [b"%d" % number for number in chunk]
            pending.append((chunk.start, producer.send_batch(topic, values, keys)))
            report.sent = chunk.stop
            while pending and pending[0][1].done():
                report.add(*pending.popleft())
        producer.flush(timeout=180)
        for first, delivery in pending:
            report.add(first, delivery)
    return report


def read(kafka: KafkaCluster, topic: str, partitions: int) -> Iterator[Record]:
    """Yield all records as Java's console consumer reads them, each partition in order."""
    shown = [f"print.{name}=true" for name in ("partition", "offset", "key")]
    properties = [*shown, "key.separator= "]
    text = kafka.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--from-beginning"),
        *(word for setting in properties for word in ("--formatter-property", setting)),
        # The tool exits after the last record; waiting for more would end in a timeout.
        *("--max-messages", str(sum(kafka.end_offset(topic, p) for p in range(partitions)))),
        *("--timeout-ms", "120000"),
        timeout=400,
    )
    for line in text.splitlines():
        partition, offset, key, value = line.split(" ")
        position = partition.removeprefix("Partition:"), offset.removeprefix("Offset:")
        yield Record(int(position[0]), int(position[1]), key.encode(), int(value))


def compare(report: Report, records: Iterable[Record]) -> Comparison:
    """Compare the records of a topic, each partition in order, with the report of its producer."""
    result = Comparison()
    last = dict.fromkeys(map(key_of, range(KEYS)), -1)
    found = bytearray(report.sent)
    number_at: dict[tuple[int, int], int] = {}
    for partition, offset, key, number in records:
        assert number < report.sent, f"record {number} was never sent"
        assert key == key_of(number), f"record {number} has the key {key!r}"
        if found[number]:
            result.duplicates.append(number)
        elif number < last[key]:
            result.out_of_order.append((last[key], number))
        last[key] = max(last[key], number)
        found[number] = 1
        number_at[partition, offset] = number
    for number in range(report.sent):
        position = report.partitions[number], report.offsets[number]
        if number in report.failed:
            continue
        if not found[number]:
            result.lost.append(number)
            there = number_at.get(position)
            result.at_offsets_of_lost.append(f"record {number} at {position}: {there}")
        elif position[1] >= 0 and number_at.get(position) != number:
            result.misplaced.append(f"record {number} at {position}: {number_at.get(position)}")
    result.unexpected = sorted(n for n in report.failed - report.unknown if found[n])
    result.found_unknown = sum(found[n] for n in report.unknown)
    return result


def _few(examples: Iterable[object]) -> str:
    return ", ".join(map(str, list(examples)[:5])) + " …"
