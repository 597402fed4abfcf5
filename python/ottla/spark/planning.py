"""From options to offset ranges, on the driver: which partitions, from where, to where.

Called by readers with a live client. Invariant: every range returned lies within what the log
held when it was planned, at its end; nothing waits for records that do not exist yet.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from ottla.errors import ConfigError, DataLossError, KafkaError, UnknownTopicError
from ottla.spark.core import Client, TopicPartition
from ottla.spark.offsets import (
    EARLIEST,
    LATEST,
    Everywhere,
    GlobalTimestamp,
    OffsetLimit,
    SpecificOffsets,
    SpecificTimestamps,
    show,
    show_all,
)
from ottla.spark.options import BatchOptions, SourceOptions
from ottla.spark.pushdown import Bounds
from ottla.spark.ranges import OffsetRange, split_ranges
from ottla.spark.subscription import APPEARS_WITHIN

log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]

T = TypeVar("T")

_NO_BOUNDS = Bounds()


def plan_batch(
    client: Client, options: BatchOptions, bounds: Bounds = _NO_BOUNDS
) -> list[OffsetRange]:
    """The ranges of one batch read; an empty list when there is nothing to read.

    ``bounds`` are those of the filters that Spark has pushed.
    A passing failure is tried again as ``fetchOffset.numRetries`` and ``…retryIntervalMs`` say.
    """
    return retrying(options.source, lambda: _plan_once(client, options, bounds))


def retrying(source: SourceOptions, ask: Callable[[], T]) -> T:
    """Ask the cluster, again after a passing failure, as often as the options say."""
    for attempt in range(1, source.offset_attempts + 1):
        try:
            return ask()
        except TimeoutError:
            # The client has tried until its deadline, which another attempt would only double.
            raise
        except KafkaError as error:
            # A topic that was named has been waited for; of a pattern, one was deleted since.
            is_gone = isinstance(error, UnknownTopicError)
            may_pass = source.subscription.finds if is_gone else error.retriable
            if attempt == source.offset_attempts or not may_pass:
                raise
            log.warning("asking for offsets failed at attempt %d, trying again: %s", attempt, error)
            time.sleep(source.offset_retry_interval)
    raise AssertionError("unreachable: there is at least one attempt")


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


class Resolver:
    """Turns one side's limit into an offset or sentinel for every partition."""

    def __init__(
        self, client: Client, source: SourceOptions, partitions: Iterable[TopicPartition]
    ) -> None:
        self._client = client
        self._source = source
        self._partitions = frozenset(partitions)

    def sentinels(self, side: str, limit: OffsetLimit) -> Offsets:
        """The offset, LATEST or EARLIEST for each partition."""
        match limit:
            case Everywhere(sentinel):
                return dict.fromkeys(self._partitions, sentinel)
            case SpecificOffsets(offsets):
                self._check_named(f"{side}Offsets", offsets, "-1 is latest, -2 is earliest")
                return dict(offsets)
            case GlobalTimestamp(timestamp):
                return self._at(side, dict.fromkeys(self._partitions, timestamp))
            case SpecificTimestamps(timestamps):
                self._check_named(f"{side}OffsetsByTimestamp", timestamps, "as of now")
                return self._at(side, dict(timestamps))

    def _at(self, side: str, timestamps: Offsets) -> Offsets:
        offsets = look_up(self._client, self._source, timestamps)
        for partition, offset in offsets.items():
            if offset >= 0:
                continue
            if side == "starting" and not self._source.latest_on_no_match:
                raise ConfigError(
                    f"{show(partition)} has no record at or after timestamp "
                    f"{timestamps[partition]}; set startingOffsetsByTimestampStrategy to latest "
                    "to start such partitions at their end"
                )
            offsets[partition] = LATEST
        return offsets

    def _check_named(self, option: str, offsets: Mapping[TopicPartition, int], note: str) -> None:
        named = offsets.keys()
        if named != self._partitions:
            raise ConfigError(
                f"{option} must name exactly the partitions that are read ({note}); "
                f"missing: {show_all(self._partitions - named)}, "
                f"not read: {show_all(named - self._partitions)}"
            )


def look_up(
    client: Client, source: SourceOptions, spec: dict[TopicPartition, str] | Offsets
) -> Offsets:
    """The offsets at ``"earliest"``, ``"latest"`` or a timestamp; -1 where no record is as late."""
    if not spec:
        return {}

    def ask(timeout: float | None = None) -> Offsets:
        answer = client.list_offsets(
            dict(spec), isolation_level=source.isolation_level, timeout=timeout
        )
        return {partition: answer[partition].offset for partition in spec}

    if not source.subscription.finds:
        return ask()
    try:
        # One of the topics found may be gone by now, and is not waited for as one that was named.
        return ask(source.topic_timeout)
    except TimeoutError:
        if source.topic_timeout < APPEARS_WITHIN:
            raise
        # It is the cluster that is slow: calls may take longer.
        return ask()


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
