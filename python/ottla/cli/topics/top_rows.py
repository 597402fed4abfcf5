"""What ``topics top`` prints: the rates as the document of ``--json`` and as a table.

Invariant: both have the same rows in the same order.
"""

from __future__ import annotations

import argparse
from typing import Any, Literal, TypedDict, cast

from ottla._internal.text import counted
from ottla._measurements.write_rates import Sample, WriteRate, WriteRates
from ottla.cli.output import TopicPartition
from ottla.cli.resources import partition_name, text
from ottla.cli.tables import Table
from ottla.cli.units import number, size


class TotalRate(TypedDict):
    """The sum of the rates that are known.

    Attributes:
        records_per_second: the offsets by which the ends grow, transaction markers included; null
            if it is unknown.
        bytes_per_second: the bytes by which the leaders' logs grow, compressed as they are; null
            if it is unknown, as after segments were deleted.
    """

    records_per_second: float | None
    bytes_per_second: float | None


class TopicRate(TotalRate):
    """The rates of a topic.

    Attributes:
        topic: its name.
        partition_count: the number of its partitions.
        records_per_second: as in ``total``.
        bytes_per_second: as in ``total``.
    """

    topic: str
    partition_count: int


class PartitionRate(TotalRate):
    """The rates of a partition.

    Attributes:
        topic: its topic.
        partition: its number.
        leader: the broker that leads it; null if none does.
        records_per_second: as in ``total``.
        bytes_per_second: as in ``total``.
    """

    topic: str
    partition: int
    leader: int | None


class BrokerRate(TotalRate):
    """The rates of the partitions that a broker leads.

    Attributes:
        broker: its id.
        partition_count: the number of partitions that it leads.
        records_per_second: as in ``total``.
        bytes_per_second: as in ``total``.
    """

    broker: int
    partition_count: int


class TopDocument(TypedDict):
    """The rates at which topics, partitions or brokers are written.

    Attributes:
        by: what the rows are.
        seconds: the time that the rates cover.
        rows: the rows, in the order of ``--sort``.
        total: the sum of all partitions, those that ``--limit`` leaves out included.
        shortened: the partitions whose log became smaller, so that its bytes are not counted.
    """

    by: Literal["topic", "partition", "broker"]
    seconds: float
    rows: list[TopicRate | PartitionRate | BrokerRate]
    total: TotalRate
    shortened: list[TopicPartition]


def top_document(
    arguments: argparse.Namespace, before: Sample, after: Sample, rates: WriteRates
) -> TopDocument:
    """Return the rates as the document of ``--json``."""
    return {
        "by": arguments.by,
        "seconds": after.ends_time - before.ends_time,
        "rows": [cast("TopicRate", value) for value, _, _ in _rows(arguments, rates)],
        "total": _plain_rate(rates.total()),
        "shortened": [{"topic": topic, "partition": part} for topic, part in rates.shortened],
    }


def _plain_rate(rate: WriteRate) -> TotalRate:
    return {
        "records_per_second": rate.records_per_second,
        "bytes_per_second": rate.bytes_per_second,
    }


def _rows(
    arguments: argparse.Namespace, rates: WriteRates
) -> list[tuple[dict[str, Any], list[str], WriteRate]]:
    """Return each row as plain values and as its first cells, with its rate, in order."""
    rows: list[tuple[dict[str, Any], list[str], WriteRate]] = []
    if arguments.by == "topic":
        for topic in sorted(rates.by_topic(), key=lambda each: each.key):
            value = {"topic": topic.key, "partition_count": topic.partition_count}
            rows.append((value, [topic.key, str(topic.partition_count)], topic.rate))
    elif arguments.by == "broker":
        for broker in sorted(rates.by_broker(), key=lambda each: each.key):
            value = {"broker": broker.key, "partition_count": broker.partition_count}
            rows.append((value, [str(broker.key), str(broker.partition_count)], broker.rate))
    else:
        for where, rate in sorted(rates.partitions.items()):
            leader = rates.leaders[where]
            value = {"topic": where[0], "partition": where[1], "leader": leader}
            cells = [partition_name(where), "none" if leader is None else str(leader)]
            rows.append((value, cells, rate))
    if arguments.sort != "name":
        # The sort is stable: equal rates are in the order of names.
        rows.sort(key=lambda row: -(_sort_value(arguments, row[2]) or 0.0))
    return [({**value, **_plain_rate(rate)}, cells, rate) for value, cells, rate in rows][
        : arguments.limit
    ]


def _sort_value(arguments: argparse.Namespace, rate: WriteRate) -> float | None:
    return rate.records_per_second if arguments.sort == "records" else rate.bytes_per_second


_HEADERS = {
    "topic": ["topic", "partitions"],
    "partition": ["partition", "leader"],
    "broker": ["broker", "leads"],
}


def table(arguments: argparse.Namespace, rates: WriteRates) -> Table:
    """Return the rates for people."""
    rows = [[*cells, *_cells(rate)] for _, cells, rate in _rows(arguments, rates)]
    header = [*_HEADERS[arguments.by], "records/s", "bytes/s", "bytes/record"]
    records, sizes, mean = _cells(rates.total())
    known = rates.partitions.values()
    records = _least(records, any(each.records_per_second is None for each in known))
    # Those that became smaller have a line of their own.
    unsized = sum(each.bytes_per_second is None for each in known) > len(rates.shortened)
    sizes = _least(sizes, unsized)
    total = f"{records} records/s, {sizes}/s"
    if mean:
        total += f", {mean} a record"
    lines = [f"{counted(len(rates.partitions), 'partition')}: {total}"]
    if rates.shortened:
        lines.append(
            f"{counted(len(rates.shortened), 'log')} became smaller, as segments were deleted: "
            "their bytes are not counted"
        )
    return Table("", header, rows, lines)


def _least(total: str, is_partial: bool) -> str:
    """Return a sum as text; one that lacks a partition must not look like all of it."""
    if not total:
        return "unknown"
    return f"at least {total}" if is_partial else total


def _cells(rate: WriteRate) -> list[str]:
    records, sizes = rate.records_per_second, rate.bytes_per_second
    return [
        text(None if records is None else number(records)),
        text(None if sizes is None else size(round(sizes))),
        text(size(round(sizes / records)) if records and sizes is not None else None),
    ]
