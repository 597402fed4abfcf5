"""The batch reader: ranges planned on the driver, records read on executors as Arrow batches.

Made by ``source``, pickled by Spark to every task. Invariant: it holds options alone, no
connection; and a read that is abandoned half-way (``limit``) leaves no scan running.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ottla.spark.clients import client_for, settle_worker
from ottla.spark.options import BatchOptions
from ottla.spark.planning import plan_batch
from ottla.spark.ranges import OffsetRange
from ottla.spark.schema import arrow_schema, check_schema, conform

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


class RangesPartition(InputPartition):
    """The ranges that one Spark task reads; today always one."""

    def __init__(self, ranges: tuple[OffsetRange, ...]) -> None:
        super().__init__(None)
        self.ranges = ranges


class BatchReader(DataSourceReader):
    """Reads what the options say, in the columns and order of the schema."""

    def __init__(self, options: BatchOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Plan on the driver; the leader of each range goes with it as a hint."""
        for warning in self._options.warnings:
            log.warning(warning)
        client = client_for(self._options.source.kafka)
        return [RangesPartition((piece,)) for piece in plan_batch(client, self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one partition of the plan."""
        # An empty plan reaches here as a partition without ranges.
        if isinstance(partition, RangesPartition):
            yield from self._scan(partition.ranges)

    def _scan(self, ranges: tuple[OffsetRange, ...]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        expected = arrow_schema(self._schema)
        client = client_for(self._options.source.kafka, hint=ranges[0].leader)
        # Now everything is imported that a task needs.
        settle_worker()
        with client.scan(
            [(piece.topic, piece.partition, piece.start, piece.end) for piece in ranges],
            columns=expected.names,
            include_headers="headers" in expected.names,
            fail_on_data_loss=self._options.source.fail_on_data_loss,
        ) as scan:
            for batch in scan:
                yield conform(pa.record_batch(batch), expected)
