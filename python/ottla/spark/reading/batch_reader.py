"""The batch reader: ranges planned on the driver, records read on executors as Arrow batches.

Made by ``source``. Invariant: it holds options alone, no connection; Spark pickles it to every task
as the ``RangesReader`` that a task needs, so that no task loads what plans.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ottla.errors import ConfigError
from ottla.spark.clients import client_for
from ottla.spark.options.read_options import BatchOptions
from ottla.spark.planning.batch_planner import plan_batch
from ottla.spark.planning.pushdown import Bounds, push
from ottla.spark.planning.record_size_estimator import RecordSizes
from ottla.spark.planning.task_packing import Task, pack
from ottla.spark.reading.partition_reader import RangesPartition, RangesReader
from ottla.spark.reading.schema import check_schema
from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

log = logging.getLogger(__name__)


def plan_tasks(options: BatchOptions, bounds: Bounds | None = None) -> list[Task]:
    """What the tasks of one batch read, asked of the cluster now."""
    source = options.source
    for warning in options.warnings:
        log.warning(warning)
    ranges = plan_batch(client_for(source.kafka), options, bounds or Bounds())
    return pack(ranges, source, RecordSizes(source.kafka).of)


class BatchReader(DataSourceReader):
    """Reads what the options say, in the columns and order of the schema."""

    def __init__(self, options: BatchOptions, schema: StructType) -> None:
        check_schema(schema)
        source = options.source
        self._options = options
        self._bounds = Bounds()
        self._of_task = RangesReader(
            source.kafka, schema, fail_on_data_loss=source.fail_on_data_loss
        )

    def __reduce__(self) -> tuple[Callable[[RangesReader], RangesReader], tuple[RangesReader]]:
        return copy.copy, (self._of_task,)

    def partitions(self) -> Sequence[InputPartition]:
        """Plan on the driver; the leader of each range goes with it as a hint."""
        show_warnings()
        return [RangesPartition(task) for task in plan_tasks(self._options, self._bounds)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one partition of the plan."""
        return self._of_task.read(partition)


class PushingBatchReader(BatchReader):
    """The same, with filters of the query; apart, since Spark refuses it where pushing is off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Take what bounds the read, and give back what Spark has to filter."""
        self._bounds, left = push(filters)
        return left


def batch_reader(options: BatchOptions, schema: StructType) -> BatchReader:
    """The reader that the options ask for."""
    if options.push_filters and not hasattr(datasource, "Filter"):
        raise ConfigError(
            f"option pushFilters needs PySpark 4.1 or newer, and this is {pyspark.__version__}: "
            "before that, Spark pushes no filter to a Python source"
        )
    kind = PushingBatchReader if options.push_filters else BatchReader
    return kind(options, schema)
