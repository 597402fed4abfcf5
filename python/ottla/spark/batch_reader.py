"""The batch reader: ranges planned on the driver, records read on executors as Arrow batches.

Made by ``source``, pickled by Spark to every task. Invariant: it holds options alone, no
connection.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ottla.spark.clients import client_for
from ottla.spark.options import BatchOptions
from ottla.spark.planning import plan_batch
from ottla.spark.schema import check_schema
from ottla.spark.tasks import RangesPartition, read_ranges

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


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
            source = self._options.source
            yield from read_ranges(
                source.kafka,
                self._schema,
                partition.ranges,
                fail_on_data_loss=source.fail_on_data_loss,
            )
