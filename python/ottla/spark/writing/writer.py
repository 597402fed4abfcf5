"""The writers of batches and streams: they send Arrow batches with the worker's own producer.

Created by ``source`` on the driver, pickled by Spark to every task. Delivery is at-least-once.
Invariant: a task succeeds only when each of its records is acknowledged; a writer holds options
only, no connection.
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
from ottla.spark.clients import freeze_gc, producer_for
from ottla.spark.options.write_options import WriteOptions
from ottla.spark.protocols import BatchDelivery
from ottla.spark.writing.row_batches import rows_to_batches
from ottla.spark.writing.write_report import (
    PartitionWritten,
    TaskCommitMessage,
    WriteReport,
    append_report,
    sum_by_partition,
)
from ottla.spark.writing.write_schema import check_write_schema, split_by_topic
from ottla.stderr_log import show_warnings

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

Messages = list[WriterCommitMessage | None]


class _WriterBase:
    """Writes the rows of one task, and reports the records that all tasks have written."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write_schema(schema, options)
        self._options = options
        self._schema = schema

    def write_task(self, batches: Iterator[pa.RecordBatch]) -> TaskCommitMessage:
        """Write all rows; return when each is acknowledged, or raise the first failure."""
        show_warnings()
        producer = producer_for(self._options.kafka)
        # Now everything that a task needs is imported.
        freeze_gc()
        written: list[dict[tuple[str, int], PartitionWritten]] = []
        pending: deque[tuple[str, BatchDelivery]] = deque()
        for batch in batches:
            for topic, rows in split_by_topic(batch, self._options):
                pending.append((topic, producer.send_batch(topic, rows)))
            # A failure ends the task early, and completed deliveries are released.
            while pending and pending[0][1].done():
                written.append(_wait_written(*pending.popleft()))
            written[:] = [sum_by_partition(written)]
        producer.flush()
        written += [_wait_written(topic, delivery) for topic, delivery in pending]
        return TaskCommitMessage(sum_by_partition(written))

    def report_commit(self, messages: Messages, batch_id: int | None) -> None:
        """Log the records that the tasks have written, and append them to ``reportPath``."""
        parts = [
            message.partitions for message in messages if isinstance(message, TaskCommitMessage)
        ]
        report = WriteReport(sum_by_partition(parts), batch_id)
        log.info("wrote %d records to %d partitions", report.records, len(report.partitions))
        if self._options.report_path is not None:
            append_report(self._options.report_path, report)

    def report_abort(self, messages: Messages) -> None:
        """Log what a failed write leaves in the topics."""
        show_warnings()
        done = sum(message is not None for message in messages)
        log.warning(
            "the write failed; the records of %d of its %d tasks, and some of the others', stay "
            "in the topics: delivery is at-least-once",
            done,
            len(messages),
        )


class BatchWriter(_WriterBase, DataSourceArrowWriter):
    """The writer of ``frame.write.format("ottla")``."""

    def __init__(self, options: WriteOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError(
                "mode overwrite is not possible: records are appended; use mode('append')"
            )
        super().__init__(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self.write_task(iterator)

    def commit(self, messages: Messages) -> None:
        """Report the records written; the tasks have written them already."""
        self.report_commit(messages, None)

    def abort(self, messages: Messages) -> None:
        """Log the failure; written records cannot be removed."""
        self.report_abort(messages)


class _StreamWriterBase(_WriterBase):
    """The callbacks that Spark calls on stream writers after each micro-batch."""

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Report the records of the micro-batch; the tasks have written them already."""
        self.report_commit(messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: ARG002, N803 (Spark's)
        """Log the failure; written records cannot be removed, and Spark writes them again."""
        self.report_abort(messages)


class RowStreamWriter(_StreamWriterBase, DataSourceStreamWriter):
    """The writer of ``frame.writeStream.format("ottla")`` for PySpark 4.0, which passes rows."""

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self.write_task(rows_to_batches(iterator, self._schema))


if hasattr(datasource, "DataSourceStreamArrowWriter"):

    class StreamWriter(_StreamWriterBase, datasource.DataSourceStreamArrowWriter):
        """The writer of ``frame.writeStream.format("ottla")``, from PySpark 4.1 on."""

        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            """Write the rows of one task."""
            return self.write_task(iterator)


def make_stream_writer(options: WriteOptions, schema: StructType) -> DataSourceStreamWriter:
    """Return the Arrow writer if this PySpark supports it, else the row writer."""
    if hasattr(datasource, "DataSourceStreamArrowWriter"):
        return StreamWriter(options, schema)
    return RowStreamWriter(options, schema)


def _wait_written(topic: str, delivery: BatchDelivery) -> dict[tuple[str, int], PartitionWritten]:
    return sum_by_partition(
        {(topic, partition): _partition_written(first, count)}
        for partition, first, count in delivery.written()
    )


def _partition_written(first: int | None, count: int) -> PartitionWritten:
    return PartitionWritten(count, first, None if first is None else first + count - 1)
