"""From options to offset ranges, on the driver: which partitions, from where, to where.

Called by readers with a live client. Invariant: every range returned lies within what the log
held when it was planned, at its end; nothing waits for records that do not exist yet.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from ottla.errors import ConfigError, DataLossError
from ottla.spark.offset_range import OffsetRange
from ottla.spark.options.offset_limits import (
    EARLIEST,
    LATEST,
    show,
)
from ottla.spark.options.read_options import BatchOptions, SourceOptions
from ottla.spark.planning.offset_resolver import Resolver, look_up, retrying
from ottla.spark.planning.pushdown import Bounds
from ottla.spark.planning.range_splitting import split_ranges
from ottla.spark.protocols import Client, TopicPartition

log = logging.getLogger(__name__)

_NO_BOUNDS = Bounds()


def plan_batch(
    client: Client, options: BatchOptions, bounds: Bounds = _NO_BOUNDS
) -> list[OffsetRange]:
    """The ranges of one batch read; an empty list when there is nothing to read.

    ``bounds`` are those of the filters that Spark has pushed.
    A passing failure is tried again as ``fetchOffset.numRetries`` and ``…retryIntervalMs`` say.
    """
    return retrying(options.source, lambda: _plan_once(client, options, bounds))


def _plan_once(client: Client, options: BatchOptions, bounds: Bounds) -> list[OffsetRange]:
    source = options.source
    leaders = source.subscription.find(client, source.topic_timeout)
    if not leaders:
        return []
    resolver = Resolver(client, source, leaders.keys())
    # Starts before ends: the log may grow in between, and must not seem to end before it starts.
    starts = resolver.sentinels("starting", options.start)
    first = look_up(client, source, {p: "earliest" for p, o in starts.items() if o == EARLIEST})
    ends = resolver.sentinels("ending", options.end)
    latest = look_up(client, source, dict.fromkeys(leaders, "latest"))
    ranges = []
    for partition, leader in leaders.items():
        newest = latest[partition]
        start = _resolve(starts[partition], first.get(partition, newest), newest)
        end = newest if ends[partition] == LATEST else ends[partition]
        end = _end_within_log(source, partition, start, end, newest)
        floats = starts[partition] == EARLIEST
        ranges.append(OffsetRange(*partition, start, end, leader, floats))
    return split_ranges(
        _within(client, source, ranges, bounds),
        min_partitions=source.min_partitions,
        max_records_per_partition=source.max_records_per_partition,
    )


def _within(
    client: Client, source: SourceOptions, ranges: list[OffsetRange], bounds: Bounds
) -> list[OffsetRange]:
    within = [part for piece in ranges if (part := bounds.of(piece)) is not None]
    if bounds.since is None:
        return within
    wanted = {piece.topic_partition: bounds.since for piece in within}
    first = look_up(client, source, wanted)
    # -1: no record is as late.
    return [
        replace(piece, start=min(max(piece.start, first[piece.topic_partition]), piece.end))
        for piece in within
        if first[piece.topic_partition] >= 0
    ]


def _resolve(offset: int, earliest: int, latest: int) -> int:
    return {EARLIEST: earliest, LATEST: latest}.get(offset, offset)


def _end_within_log(
    source: SourceOptions, partition: TopicPartition, start: int, end: int, newest: int
) -> int:
    if end > newest:
        # A task would wait in vain for these records.
        lost = f"{show(partition)} was to be read up to offset {end}, but its log ends at {newest}"
        if source.fail_on_data_loss:
            raise DataLossError(f"{lost}; set failOnDataLoss to false to read what there is")
        log.warning("%s: reading what there is", lost)
        return max(newest, start)
    if start > end:
        raise ConfigError(
            f"{show(partition)} was to be read from offset {start}, which is after the end of "
            f"the range, {end}; its log ends at {newest}. Is the start beyond the end of the log, "
            "a timestamp on the wrong side, or was the topic made anew?"
        )
    return end
