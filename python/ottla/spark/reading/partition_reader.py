"""Reads the ranges of one task as Arrow batches, in the columns of the schema.

Used by the batch and stream readers, and loaded in tasks: nothing here imports the planners.
Invariant: a read that is abandoned early, as with ``limit``, leaves no scan running.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.stderr_log import show_warnings
from ottla.spark.clients import client_for, freeze_gc

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from ottla.spark.protocols import ArrowArray, Client, Columns


class OffsetRangesPartition(InputPartition):
    """The ranges that one Spark task reads."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(None)
        self.ranges = ranges


class PartitionReader(DataSourceReader):
    """The part of a reader that tasks need: it reads the ranges of a partition."""

    def __init__(
        self, kafka: Mapping[str, str], columns: Columns, *, fail_on_data_loss: bool
    ) -> None:
        self._kafka = kafka
        self._columns = columns
        self._fail_on_data_loss = fail_on_data_loss

    def with_filters(self, filters: Iterable[Filter]) -> PartitionReader:
        """Return a reader whose tasks apply those filters that they can."""
        columns = self._columns.with_filters(filters)
        return PartitionReader(self._kafka, columns, fail_on_data_loss=self._fail_on_data_loss)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task."""
        # For an empty plan, Spark passes a partition without ranges.
        if isinstance(partition, OffsetRangesPartition):
            yield from read_ranges(
                self._kafka,
                self._columns,
                partition.ranges,
                fail_on_data_loss=self._fail_on_data_loss,
            )


def read_ranges(
    kafka: Mapping[str, str],
    columns: Columns,
    ranges: tuple[OffsetRange, ...],
    *,
    fail_on_data_loss: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the ranges; those of one partition in order."""
    import pyarrow as pa

    show_warnings()
    expected = columns.arrow_schema()
    client = client_for(kafka, hint=ranges[0].leader)
    if fail_on_data_loss:
        ranges = _with_current_starts(client, ranges)
    with client.scan(
        [(one.topic, one.partition, one.start, one.end) for one in ranges],
        columns=columns.scan_columns(),
        include_headers="headers" in expected.names,
        fail_on_data_loss=fail_on_data_loss,
        **columns.formats(),
    ) as scan:
        # Unlike the variable of a loop, this holds no batch while the next one is decoded.
        def to_spark(batch: ArrowArray) -> pa.RecordBatch:
            return columns.to_spark(pa.record_batch(batch), expected)

        yield from map(to_spark, scan)
    # Now everything that a task needs is imported, and no row is delayed.
    freeze_gc()


def _with_current_starts(
    client: Client, ranges: tuple[OffsetRange, ...]
) -> tuple[OffsetRange, ...]:
    # Retention may have moved the start of the log since the read was planned.
    spec = {one.topic_partition: "earliest" for one in ranges if one.from_earliest}
    earliest = client.list_offsets(spec) if spec else {}
    return tuple(
        replace(one, start=min(max(one.start, earliest[one.topic_partition].offset or 0), one.end))
        if one.from_earliest
        else one
        for one in ranges
    )
