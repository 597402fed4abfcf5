"""Plans a batch read on the driver: from options to offset ranges.

Called by the batch reader and ``read_arrow`` with a connected client. Invariant: every range ends
at or before the end that its log had when the read was planned; no task waits for records that do
not exist yet.
"""

from __future__ import annotations

import logging

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.range_splitting import split_ranges
from ottla._internal.planning.read_bounds import ReadBounds, within_bounds
from ottla.errors import ConfigError, DataLossError
from ottla.spark.options.offset_limits import EARLIEST, LATEST, format_partition
from ottla.spark.options.read_options import BatchReadOptions, CommonOptions
from ottla.spark.planning.offset_resolver import OffsetResolver, list_offsets, with_retries
from ottla.spark.protocols import Client, TopicPartition

log = logging.getLogger(__name__)

_UNBOUNDED = ReadBounds()


def plan_batch(
    client: Client, options: BatchReadOptions, bounds: ReadBounds = _UNBOUNDED
) -> list[OffsetRange]:
    """Return the ranges of one batch read; an empty list if there is nothing to read.

    Retriable errors are retried as ``fetchOffset.numRetries`` and ``…retryIntervalMs`` say.

    Args:
        client: a connected client.
        options: the options of the read.
        bounds: the bounds set by filters that Spark pushed down. Default: none.
    """
    return with_retries(options.common, lambda: _plan_once(client, options, bounds))


def _plan_once(client: Client, options: BatchReadOptions, bounds: ReadBounds) -> list[OffsetRange]:
    common = options.common
    leaders = common.subscription.find_partitions(client, common.topic_timeout)
    if not leaders:
        return []
    resolver = OffsetResolver(client, common, leaders.keys())
    # Starts before ends: a log that grows in between must not seem to end before it starts.
    starts = resolver.resolve("starting", options.start)
    from_earliest: dict[TopicPartition, str] = {
        p: "earliest" for p, offset in starts.items() if offset == EARLIEST
    }
    earliest = list_offsets(client, common, from_earliest)
    ends = resolver.resolve("ending", options.end)
    latest = list_offsets(client, common, dict.fromkeys(leaders, "latest"))
    ranges = []
    for partition, leader in leaders.items():
        log_end = latest[partition]
        start = {EARLIEST: earliest.get(partition, log_end), LATEST: log_end}.get(
            starts[partition], starts[partition]
        )
        end = log_end if ends[partition] == LATEST else ends[partition]
        end = _end_within_log(common, partition, start, end, log_end)
        ranges.append(OffsetRange(*partition, start, end, leader, partition in from_earliest))
    return split_ranges(
        within_bounds(ranges, bounds, lambda spec: list_offsets(client, common, dict(spec))),
        min_partitions=common.min_partitions,
        max_records_per_partition=common.max_records_per_partition,
    )


def _end_within_log(
    common: CommonOptions, partition: TopicPartition, start: int, end: int, log_end: int
) -> int:
    if end > log_end:
        # A task would wait for these records until it times out.
        problem = (
            f"{format_partition(partition)} was to be read up to offset {end}, "
            f"but its log ends at {log_end}"
        )
        if common.fail_on_data_loss:
            raise DataLossError(
                f"{problem}; set failOnDataLoss to false to read the records that exist"
            )
        log.warning("%s: reading the records that exist", problem)
        return max(log_end, start)
    if start > end:
        raise ConfigError(
            f"{format_partition(partition)} was to be read from offset {start}, which is after "
            f"the end of the range, {end}; its log ends at {log_end}. Check that the start is not "
            "beyond the end of the log, that the timestamps are on the right sides, and that the "
            "topic was not deleted and created again"
        )
    return end
