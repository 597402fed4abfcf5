"""The readers of streams, one for what each version of PySpark offers.

Made by ``source``; Spark keeps one in a process of its own for the query's offsets, and pickles
others to the tasks, as the ``RangesReader`` that these need. Invariant: what is pickled holds
options alone; the planner, with its client and what it remembers, is made on first use and stays in
its process.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from ottla.errors import ConfigError
from ottla.spark.options.read_options import StreamOptions
from ottla.spark.planning.checkpoint import (
    UNSETTLED,
    Json,
    first_end,
    nested_offsets,
    offsets_of,
    settled_start,
)
from ottla.spark.planning.stream_planner import StreamPlanner
from ottla.spark.protocols import Offsets
from ottla.spark.reading.partition_reader import RangesPartition, RangesReader
from ottla.spark.reading.schema import check_schema
from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit


class PlainStreamReader(DataSourceStreamReader):
    """What PySpark 4.0 and 4.1 offer: each micro-batch reads all there is."""

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        check_schema(schema)
        source = options.source
        self._options = options
        self._of_task = RangesReader(
            source.kafka, schema, fail_on_data_loss=source.fail_on_data_loss
        )
        self._planner: StreamPlanner | None = None
        self._last: Json | None = None

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        """Where a new query starts: settled with its first micro-batch, and asked for again."""
        return UNSETTLED

    def latestOffset(self) -> Json:  # type: ignore[override]  # noqa: N802 (as it was in 4.0)
        """Where the next micro-batch ends."""
        if self._last is None:
            # The first micro-batch; or a run that Spark bounds by itself, if told to, for which it
            # asks before it tells of the checkpoint. Then it passes over where the query started.
            return first_end(*self.planner.first_batch(everything=True))
        end = self.planner.latest(done := offsets_of(self._last))
        # What was planned last is done when Spark asks for more.
        self.planner.publish(done)
        return self._last if end == done else nested_offsets(end)

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """The tasks of a micro-batch; of none, after a restart, with the last end for both."""
        self._last = end
        tasks = self.planner.plan(self._begin(start, end), offsets_of(end))
        return [RangesPartition(task) for task in tasks]

    def _begin(self, start: Json, end: Json) -> Offsets:
        if start != UNSETTLED:
            return offsets_of(start)
        settled = settled_start(end)
        return self.planner.unsettled_start(offsets_of(end)) if settled is None else settled

    def commit(self, end: Json) -> None:
        """Show that a micro-batch is done; not called for the last one, which the next shows."""
        self.planner.publish(offsets_of(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task."""
        return self._of_task.read(partition)

    @property
    def planner(self) -> StreamPlanner:
        """The one planner of this process and query."""
        if self._planner is None:
            show_warnings()
            self._planner = StreamPlanner(self._options)
        return self._planner

    def __reduce__(self) -> tuple[Callable[[RangesReader], RangesReader], tuple[RangesReader]]:
        return copy.copy, (self._of_task,)


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
            everything = isinstance(limit, ReadAllAvailable)
            if start == UNSETTLED:
                done, end = self.planner.first_batch(everything=everything)
                told = first_end(done, end)
            else:
                done = offsets_of(start)
                end = self.planner.end_of_batch(done, everything=everything)
                # Only with the same text does Spark see that there is nothing to do.
                told = start if end == done else nested_offsets(end)
            # What a micro-batch starts with is in the checkpoint.
            self.planner.publish(done)
            return told

        def reportLatestOffset(self) -> Json | None:  # noqa: N802 (Spark's name)
            """What the log held at the last trigger, for the query's progress."""
            newest = self.planner.newest
            return None if newest is None else nested_offsets(newest)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
            """Take the log to end where it ends now."""
            self.planner.fix_target()


class RefusedStreamReader(DataSourceStreamReader):
    """Stands in where options are wrong: whatever Spark asks for first raises the error."""

    def __init__(self, error: ConfigError) -> None:
        self._error = error

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        """Raise the error."""
        raise self._error

    def latestOffset(self, start: Json | None = None, limit: object = None) -> Json:  # noqa: ARG002, N802
        """Raise the error, where a checkpoint has the first offsets."""
        raise self._error

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:  # noqa: ARG002
        """Raise the error, where a checkpoint has a whole micro-batch."""
        raise self._error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Raise the error; no task comes that far."""
        raise self._error


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
