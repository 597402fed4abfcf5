"""The stream readers, one for each set of features that versions of PySpark offer.

Created by ``source``. Spark keeps one in a process of its own for the query's offsets, and pickles
others to tasks, as a ``PartitionReader``. Invariant: only options are pickled; the planner, with
its client and its state, is created on first use and stays in its process.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from ottla._internal.stderr_log import show_warnings
from ottla.errors import ConfigError
from ottla.spark.options.read_options import StreamReadOptions
from ottla.spark.planning.checkpoint import (
    UNRESOLVED_START,
    Json,
    first_batch_end,
    first_batch_start,
    offsets_from_json,
    offsets_to_json,
)
from ottla.spark.planning.stream_planner import StreamPlanner
from ottla.spark.protocols import Offsets
from ottla.spark.reading.columns import partition_reader
from ottla.spark.reading.partition_reader import OffsetRangesPartition, PartitionReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit


class BasicStreamReader(DataSourceStreamReader):
    """The reader for PySpark 4.0 and 4.1: each micro-batch reads everything available."""

    def __init__(self, options: StreamReadOptions, schema: StructType) -> None:
        self._options = options
        self._partition_reader = partition_reader(options.common, schema)
        self._planner: StreamPlanner | None = None
        self._last_end: Json | None = None

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        """Return a placeholder: the start of a query is resolved with its first micro-batch.

        Spark calls this again when it repeats that micro-batch.
        """
        return UNRESOLVED_START

    def latestOffset(self) -> Json:  # type: ignore[override]  # noqa: N802 (the signature of 4.0)
        """Return the end of the next micro-batch."""
        if self._last_end is None:
            # The first micro-batch; or an AvailableNow run emulated by Spark, which calls this
            # before it passes the checkpoint's offsets, and then ignores the start.
            return first_batch_end(*self.planner.first_batch(unlimited=True))
        processed = offsets_from_json(self._last_end)
        end = self.planner.latest_offsets(processed)
        # When Spark asks for another micro-batch, the last one is processed.
        self.planner.commit_group_offsets(processed)
        return self._last_end if end == processed else offsets_to_json(end)

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """Return the tasks of a micro-batch.

        After a restart, Spark first calls this with the last end as both arguments.
        """
        self._last_end = end
        tasks = self.planner.plan_tasks(self._resolve_start(start, end), offsets_from_json(end))
        return [OffsetRangesPartition(task) for task in tasks]

    def _resolve_start(self, start: Json, end: Json) -> Offsets:
        if start != UNRESOLVED_START:
            return offsets_from_json(start)
        recorded = first_batch_start(end)
        if recorded is None:
            return self.planner.unrecorded_start(offsets_from_json(end))
        return recorded

    def commit(self, end: Json) -> None:
        """Commit the offsets of a processed micro-batch to the group.

        Spark does not call this for the last micro-batch; the next one commits its offsets.
        """
        self.planner.commit_group_offsets(offsets_from_json(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of one task."""
        return self._partition_reader.read(partition)

    @property
    def planner(self) -> StreamPlanner:
        """The one planner of this process and query."""
        if self._planner is None:
            show_warnings()
            self._planner = StreamPlanner(self._options)
        return self._planner

    def __reduce__(
        self,
    ) -> tuple[Callable[[PartitionReader], PartitionReader], tuple[PartitionReader]]:
        return copy.copy, (self._partition_reader,)


try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxRows,
        ReadMinRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before PySpark 4.2
    _HAS_ADMISSION_CONTROL = False
else:
    _HAS_ADMISSION_CONTROL = True

    class StreamReader(BasicStreamReader, SupportsTriggerAvailableNow):
        """The reader for PySpark 4.2 and newer: micro-batch limits, AvailableNow, and lag."""

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
            """Return one of the limits, so that Spark knows there are any.

            The planner takes all of them from the options.
            """
            options = self._options
            # Spark has no composite limit for Python sources, so the first stands for all.
            if options.max_offsets_per_trigger is not None:
                return ReadMaxRows(options.max_offsets_per_trigger)
            if options.max_bytes_per_trigger is not None:
                return ReadMaxBytes(options.max_bytes_per_trigger)
            if options.min_offsets_per_trigger is not None:
                return ReadMinRows(options.min_offsets_per_trigger)
            return ReadAllAvailable()

        def latestOffset(self, start: Json, limit: ReadLimit) -> Json:  # type: ignore[override]  # noqa: N802
            """Return the end of the next micro-batch."""
            unlimited = isinstance(limit, ReadAllAvailable)
            if start == UNRESOLVED_START:
                processed, end = self.planner.first_batch(unlimited=unlimited)
                result = first_batch_end(processed, end)
            else:
                processed = offsets_from_json(start)
                end = self.planner.end_of_batch(processed, unlimited=unlimited)
                # Spark compares text: only the same text means that there is nothing to read.
                result = start if end == processed else offsets_to_json(end)
            # The start of a micro-batch is in the checkpoint, so it is processed.
            self.planner.commit_group_offsets(processed)
            return result

        def reportLatestOffset(self) -> Json | None:  # noqa: N802 (Spark's name)
            """Return the log end offsets at the last trigger, for the query's progress."""
            latest = self.planner.latest
            return None if latest is None else offsets_to_json(latest)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
            """Fix the logs' ends where they are now."""
            self.planner.prepare_available_now()


class FailingStreamReader(DataSourceStreamReader):
    """Replaces the reader if options are wrong: every method raises the error."""

    def __init__(self, error: ConfigError) -> None:
        self._error = error

    def initialOffset(self) -> Json:  # noqa: N802 (Spark's name)
        """Raise the error."""
        raise self._error

    def latestOffset(self, start: Json | None = None, limit: object = None) -> Json:  # noqa: ARG002, N802
        """Raise the error; called first if the checkpoint has the initial offsets."""
        raise self._error

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:  # noqa: ARG002
        """Raise the error; called first if the checkpoint has a whole micro-batch."""
        raise self._error

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Raise the error; no task gets here."""
        raise self._error


def make_stream_reader(options: StreamReadOptions, schema: StructType) -> DataSourceStreamReader:
    """Return the reader with the most features that this PySpark supports."""
    if _HAS_ADMISSION_CONTROL:
        return StreamReader(options, schema)
    check_no_limits(options)
    return BasicStreamReader(options, schema)


def check_no_limits(options: StreamReadOptions) -> None:
    """Reject micro-batch limits, which need PySpark 4.2 and would be ignored before."""
    limits = {
        "maxOffsetsPerTrigger": options.max_offsets_per_trigger,
        "minOffsetsPerTrigger": options.min_offsets_per_trigger,
        "maxBytesPerTrigger": options.max_bytes_per_trigger,
    }
    for name, value in limits.items():
        if value is not None:
            raise ConfigError(
                f"option {name} needs PySpark 4.2 or newer, and this is {pyspark.__version__}: "
                "before that, Spark calls a Python source in the same way for each trigger, so a "
                "limit would end a run of Trigger.AvailableNow early; maxRecordsPerPartition "
                "limits the tasks of a micro-batch"
            )
