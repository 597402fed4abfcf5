"""What one Spark task reads: some ranges, as Arrow batches in the columns of the schema.

Used by the readers of batches and of streams, and loaded where tasks run: nothing here needs what
plans. Invariant: a read that is abandoned half-way (``limit``) leaves no scan running.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ottla.spark.clients import client_for, settle_worker
from ottla.spark.offset_range import OffsetRange
from ottla.spark.reading.schema import arrow_schema, conform
from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import pyarrow as pa

    from ottla.spark.protocols import Client


class RangesPartition(InputPartition):
    """The ranges that one Spark task reads."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(None)
        self.ranges = ranges


class RangesReader(DataSourceReader):
    """All that a task needs of a reader: how to read the ranges that it is given."""

    def __init__(
        self, kafka: Mapping[str, str], schema: StructType, *, fail_on_data_loss: bool
    ) -> None:
        self._kafka = kafka
        self._schema = schema
        self._fail_on_data_loss = fail_on_data_loss

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one partition of the plan."""
        # An empty plan reaches here as a partition without ranges.
        if isinstance(partition, RangesPartition):
            yield from read_ranges(
                self._kafka,
                self._schema,
                partition.ranges,
                fail_on_data_loss=self._fail_on_data_loss,
            )


def read_ranges(
    kafka: Mapping[str, str],
    schema: StructType,
    ranges: tuple[OffsetRange, ...],
    *,
    fail_on_data_loss: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the ranges; those of one partition in order."""
    import pyarrow as pa

    show_warnings()
    expected = arrow_schema(schema)
    client = client_for(kafka, hint=ranges[0].leader)
    if fail_on_data_loss:
        ranges = _settled(client, ranges)
    with client.scan(
        [(piece.topic, piece.partition, piece.start, piece.end) for piece in ranges],
        columns=expected.names,
        include_headers="headers" in expected.names,
        fail_on_data_loss=fail_on_data_loss,
    ) as scan:
        for batch in scan:
            yield conform(pa.record_batch(batch), expected)
    # Now everything is imported that a task needs, and no row waits for it.
    settle_worker()


def _settled(client: Client, ranges: tuple[OffsetRange, ...]) -> tuple[OffsetRange, ...]:
    # Where the log starts is where it starts now: retention went on since the read was planned.
    floating = {piece.topic_partition: "earliest" for piece in ranges if piece.floats}
    first = client.list_offsets(floating) if floating else {}
    return tuple(
        replace(piece, start=min(max(piece.start, first[piece.topic_partition].offset), piece.end))
        if piece.floats
        else piece
        for piece in ranges
    )
