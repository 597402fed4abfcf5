"""The readers of streams, one for what each version of PySpark offers.

Made by ``source``; Spark keeps one in a process of its own for the query's offsets, and pickles
others to the tasks. Invariant: what is pickled holds options alone; the planner, with its client
and what it remembers, is made on first use and stays in its process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from ottla.errors import ConfigError
from ottla.spark.offsets import nested_offsets, offsets_of
from ottla.spark.options import StreamOptions
from ottla.spark.schema import check_schema
from ottla.spark.stream_planner import StreamPlanner
from ottla.spark.tasks import RangesPartition, read_ranges

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit

Json = dict[str, Any]


class PlainStreamReader(DataSourceStreamReader):
    """What PySpark 4.0 and 4.1 offer: each micro-batch reads all there is."""

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema
        self._planner: StreamPlanner | None = None

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        """Where a new query starts."""
        return nested_offsets(self.planner.initial())

    def latestOffset(self) -> Json:  # type: ignore[override]  # noqa: N802 (as it was in 4.0)
        """Where the next micro-batch ends."""
        return nested_offsets(self.planner.latest())

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """The tasks of a micro-batch."""
        tasks = self.planner.plan(offsets_of(start), offsets_of(end))
        return [RangesPartition(task) for task in tasks]

    def commit(self, end: Json) -> None:
        """Show that a micro-batch is done; not called for the last one, which the next shows."""
        self.planner.publish(offsets_of(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task."""
        if isinstance(partition, RangesPartition):
            source = self._options.source
            yield from read_ranges(
                source.kafka,
                self._schema,
                partition.ranges,
                fail_on_data_loss=source.fail_on_data_loss,
            )

    @property
    def planner(self) -> StreamPlanner:
        """The one planner of this process and query."""
        if self._planner is None:
            self._planner = StreamPlanner(self._options)
        return self._planner

    def __getstate__(self) -> Mapping[str, object]:
        return {**vars(self), "_planner": None}


try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before PySpark 4.2
    _HAS_ADMISSION = False
else:
    _HAS_ADMISSION = True

    class StreamReader(PlainStreamReader, SupportsTriggerAvailableNow):
        """What PySpark 4.2 offers: limits a micro-batch, bounded runs, and how far the log is."""

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
            """Tell Spark that there are limits; which ones, the planner knows from the options."""
            options = self._options
            # Spark has no limit of several parts for Python, so the first stands for all.
            if options.max_offsets_per_trigger is not None:
                return ReadMaxRows(options.max_offsets_per_trigger)
            if options.max_bytes_per_trigger is not None:
                return ReadMaxBytes(options.max_bytes_per_trigger)
            if options.min_offsets_per_trigger is not None:
                return ReadMinRows(options.min_offsets_per_trigger)
            return ReadAllAvailable()

        def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # type: ignore[override]  # noqa: N802
            """Where the next micro-batch ends."""
            done = offsets_of(start)
            if isinstance(limit, ReadAllAvailable):
                end = self.planner.latest()
            else:
                end = self.planner.end_of_batch(done)
            # What a micro-batch starts with is in the checkpoint.
            self.planner.publish(done)
            return nested_offsets(end)

        def reportLatestOffset(self) -> Json | None:  # noqa: N802 (Spark's name)
            """What the log held at the last trigger, for the query's progress."""
            newest = self.planner.newest
            return None if newest is None else nested_offsets(newest)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
            """Take the log to end where it ends now."""
            self.planner.fix_target()


def stream_reader(options: StreamOptions, schema: StructType) -> DataSourceStreamReader:
    """The best reader of streams that this PySpark can use."""
    if _HAS_ADMISSION:
        return StreamReader(options, schema)
    check_plain(options)
    return PlainStreamReader(options, schema)


def check_plain(options: StreamOptions) -> None:
    """Refuse what needs PySpark 4.2: a limit that is passed over would be found out too late."""
    given = {
        "maxOffsetsPerTrigger": options.max_offsets_per_trigger,
        "minOffsetsPerTrigger": options.min_offsets_per_trigger,
        "maxBytesPerTrigger": options.max_bytes_per_trigger,
    }
    for name, value in given.items():
        if value is not None:
            raise ConfigError(
                f"option {name} needs PySpark 4.2 or newer, and this is {pyspark.__version__}: "
                "before that, a Python source can't limit a micro-batch"
            )
