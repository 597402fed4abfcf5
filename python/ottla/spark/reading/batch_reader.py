"""The batch reader: plans ranges on the driver, and reads them on executors as Arrow batches.

Created by ``source``. Invariant: it holds options only, no connection. Spark pickles it to every
task as a ``PartitionReader``, so that no task loads the planner.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyspark

# Not `from pyspark.sql`: the error of a PySpark without this module then names the module.
import pyspark.sql.datasource as datasource
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ottla._internal.planning.read_bounds import ReadBounds
from ottla._internal.stderr_log import show_warnings
from ottla.errors import ConfigError
from ottla.spark.clients import client_for
from ottla.spark.options.read_options import BatchReadOptions
from ottla.spark.planning.batch_planner import plan_batch
from ottla.spark.planning.pushdown import push_filters
from ottla.spark.planning.read_description import log_planned_read
from ottla.spark.planning.record_size_estimator import RecordSizeEstimator
from ottla.spark.planning.task_packing import TaskRanges, pack_ranges
from ottla.spark.reading.columns import partition_reader
from ottla.spark.reading.partition_reader import OffsetRangesPartition, PartitionReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

log = logging.getLogger(__name__)


def plan_tasks(options: BatchReadOptions, bounds: ReadBounds | None = None) -> list[TaskRanges]:
    """Look up offsets now, and return the ranges that each task of a batch reads."""
    common = options.common
    for warning in options.warnings:
        log.warning(warning)
    ranges = plan_batch(client_for(common.kafka), options, bounds or ReadBounds())
    return pack_ranges(ranges, common, RecordSizeEstimator(common.kafka).estimate)


class BatchReader(DataSourceReader):
    """The reader of a batch query, in the columns and order of the schema."""

    def __init__(self, options: BatchReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._bounds = ReadBounds()
        self._filters: list[Filter] = []
        self._partition_reader = partition_reader(options.common, schema)

    def __reduce__(
        self,
    ) -> tuple[Callable[[PartitionReader], PartitionReader], tuple[PartitionReader]]:
        return copy.copy, (self._partition_reader,)

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the tasks, on the driver."""
        show_warnings()
        tasks = plan_tasks(self._options, self._bounds)
        log_planned_read(tasks, self._schema, self._filters)
        return [OffsetRangesPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task."""
        return self._partition_reader.read(partition)


class PushdownBatchReader(BatchReader):
    """A batch reader with filter pushdown.

    A class of its own: Spark rejects a reader with ``pushFilters`` if pushdown is disabled.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Keep the bounds that the filters set, and return the filters that Spark has to apply."""
        self._filters = filters
        self._bounds, remaining = push_filters(filters)
        self._partition_reader = self._partition_reader.with_filters(remaining)
        return remaining


def make_batch_reader(options: BatchReadOptions, schema: StructType) -> BatchReader:
    """Return a reader with or without filter pushdown, as the options say."""
    if options.push_filters and not hasattr(datasource, "Filter"):
        raise ConfigError(
            f"option pushFilters needs PySpark 4.1 or newer, and this is {pyspark.__version__}: "
            "before that, Spark pushes no filter to a Python source"
        )
    reader = PushdownBatchReader if options.push_filters else BatchReader
    return reader(options, schema)
