"""The writers of batches and streams: Arrow in, the worker's own producer out, at-least-once.

Made by ``source`` on the driver, pickled by Spark to every task. Invariant: a task reports success
only when each of its records was acknowledged; a writer holds options alone, no connection.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import Row, StructType

from ottla.errors import ConfigError
from ottla.spark.clients import producer_for, settle_worker
from ottla.spark.options.write_options import SinkOptions
from ottla.spark.protocols import BatchDelivery
from ottla.spark.writing.row_batches import batches_of
from ottla.spark.writing.write_report import (
    PartitionWritten,
    TaskWritten,
    WriteReport,
    added_up,
    append_report,
)
from ottla.spark.writing.write_schema import by_topic, check_sink_schema
from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

Messages = list[WriterCommitMessage | None]


class Sink:
    """What all writers do: write the rows of one task, and report what all tasks wrote."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_sink_schema(schema, options)
        self._options = options
        self._schema = schema

    def write_task(self, batches: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Write all rows; returns when each is acknowledged, or raises the first failure."""
        show_warnings()
        producer = producer_for(self._options.kafka)
        # Now everything is imported that a task needs.
        settle_worker()
        written: list[dict[tuple[str, int], PartitionWritten]] = []
        pending: deque[tuple[str, BatchDelivery]] = deque()
        for batch in batches:
            for topic, rows in by_topic(batch, self._options):
                pending.append((topic, producer.send_batch(topic, rows)))
            # What failed ends the task soon, and what is done takes no memory.
            while pending and pending[0][1].done():
                written.append(_written(*pending.popleft()))
            written[:] = [added_up(written)]
        producer.flush()
        written += [_written(topic, delivery) for topic, delivery in pending]
        return TaskWritten(added_up(written))

    def report(self, messages: Messages, batch_id: int | None) -> None:
        """Write down what the tasks wrote, if the options ask for it."""
        parts = [message.partitions for message in messages if isinstance(message, TaskWritten)]
        report = WriteReport(added_up(parts), batch_id)
        log.info("wrote %d records to %d partitions", report.records, len(report.partitions))
        if self._options.report_path is not None:
            append_report(self._options.report_path, report)

    def give_up(self, messages: Messages) -> None:
        """Say what a write that failed leaves behind."""
        show_warnings()
        done = sum(message is not None for message in messages)
        log.warning(
            "the write failed; what %d of its %d tasks wrote, and a part of the others', is in the "
            "log and stays there: records come at least once",
            done,
            len(messages),
        )


class BatchWriter(Sink, DataSourceArrowWriter):
    """``frame.write.format("ottla")``."""

    def __init__(self, options: SinkOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError(
                "mode overwrite is not possible: records are appended; use mode('append')"
            )
        super().__init__(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self.write_task(iterator)

    def commit(self, messages: Messages) -> None:
        """Report what was written; nothing is left to be done for it."""
        self.report(messages, None)

    def abort(self, messages: Messages) -> None:
        """Leave what was written: a log takes nothing back."""
        self.give_up(messages)


class _StreamSink(Sink):
    """What Spark asks of the writers of a stream after each micro-batch."""

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Report what the micro-batch wrote; nothing is left to be done for it."""
        self.report(messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: ARG002, N803 (Spark's)
        """Leave what was written: a log takes nothing back, and Spark writes it again."""
        self.give_up(messages)


class RowStreamWriter(_StreamSink, DataSourceStreamWriter):
    """``frame.writeStream.format("ottla")`` where streams give rows only, as PySpark 4.0 does."""

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self.write_task(batches_of(iterator, self._schema))


if hasattr(datasource, "DataSourceStreamArrowWriter"):

    class StreamWriter(_StreamSink, datasource.DataSourceStreamArrowWriter):
        """``frame.writeStream.format("ottla")``, from PySpark 4.1 on."""

        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            """Write the rows of one task."""
            return self.write_task(iterator)


def stream_writer(options: SinkOptions, schema: StructType) -> DataSourceStreamWriter:
    """The best writer of streams that this PySpark can use."""
    if hasattr(datasource, "DataSourceStreamArrowWriter"):
        return StreamWriter(options, schema)
    return RowStreamWriter(options, schema)


def _written(topic: str, delivery: BatchDelivery) -> dict[tuple[str, int], PartitionWritten]:
    pieces = (
        {(topic, partition): _piece(first, count)} for partition, first, count in delivery.written()
    )
    return added_up(pieces)


def _piece(first: int | None, count: int) -> PartitionWritten:
    return PartitionWritten(count, first, None if first is None else first + count - 1)
