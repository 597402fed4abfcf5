"""The writers of batches and streams: they send Arrow batches with the worker's own producer.

Created by ``source`` on the driver, pickled by Spark to every task. Delivery is at-least-once, or
exactly-once with the option ``exactlyOnce``, whose code ``exactly_once`` has.
Invariant: a task succeeds only when each of its records is acknowledged; a writer holds options
only, no connection.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import Row, StructType

from ottla._internal.stderr_log import show_warnings
from ottla.errors import ConfigError
from ottla.spark.clients import freeze_gc, producer_for
from ottla.spark.options.write_options import ExactlyOnceOptions, WriteOptions
from ottla.spark.writing.row_batches import rows_to_batches
from ottla.spark.writing.send_rows import send_rows
from ottla.spark.writing.typed_write_check import check_typed_columns
from ottla.spark.writing.write_report import (
    TaskCommitMessage,
    WriteReport,
    append_report,
    sum_by_partition,
)
from ottla.spark.writing.write_schema import check_write_schema, fingerprint_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ottla.spark.writing.exactly_once.task import PreparedTask
    from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

log = logging.getLogger(__name__)

Messages = list[WriterCommitMessage | None]


class _WriterBase:
    """Writes the rows of one task, and reports the records that all tasks have written."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_write_schema(schema, options)
        check_typed_columns(schema, options)
        self._options = options
        # The write of a batch query; that of a stream's tasks comes from Spark.
        self._batch_write: WriteIdentity | None = None
        self._schema = schema

    def write_task(self, batches: Iterator[pa.RecordBatch]) -> TaskCommitMessage:
        """Write all rows; return when each is acknowledged, or raise the first failure."""
        show_warnings()
        if self._options.exactly_once is not None:
            return self._write_exactly_once(batches, self._options.exactly_once)
        producer = producer_for(self._options.kafka)
        # Now everything that a task needs is imported.
        freeze_gc()
        return TaskCommitMessage(send_rows(producer, batches, self._options))

    def _write_exactly_once(
        self, batches: Iterator[pa.RecordBatch], exactly_once: ExactlyOnceOptions
    ) -> TaskCommitMessage:
        from ottla.spark.writing.exactly_once.task import write_exactly_once
        from ottla.spark.writing.exactly_once.task_identity import task_identity

        identity = task_identity(self._batch_write)
        fingerprint = fingerprint_of(self._schema, self._options)
        return write_exactly_once(batches, self._options, exactly_once, identity, fingerprint)

    def commit_tasks(self, messages: Messages, batch_id: int | None) -> None:
        """Commit the tasks' transactions, if there are any, and report the records."""
        if self._options.exactly_once is not None:
            from ottla.spark.writing.exactly_once.driver import commit_batch

            show_warnings()
            commit_batch(_prepared(messages), self._options.kafka, self._options.exactly_once)
        self.report_commit(messages, batch_id)

    def abort_tasks(self, messages: Messages) -> None:
        """Abort the tasks' transactions, if there are any, and log what a failed write leaves."""
        if self._options.exactly_once is None:
            self.report_abort(messages)
            return
        from ottla.spark.writing.exactly_once.driver import abort_batch

        show_warnings()
        prepared = _prepared(messages)
        write = self._batch_write or next((each.write for each in prepared if each.write), None)
        if write is None:
            log.warning("the write failed; its next run aborts what its tasks left open")
        elif abort_batch(write, prepared, self._options.kafka, self._options.exactly_once):
            log.warning(
                "the write failed after it was decided: its next run completes it (%s)",
                f"exactlyOnceId={write.query}" if self._batch_write else "the same batch",
            )
        else:
            log.warning("the write failed; its transactions are aborted")

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
        if options.exactly_once is not None:
            from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

            run = uuid.uuid4().hex
            # Spark pickles this object to all tasks and to the commit.
            self._batch_write = WriteIdentity(options.exactly_once.id or run, run, 0)
            if self._batch_write.is_unnamed:
                show_warnings()
                log.warning(
                    "exactlyOnce without exactlyOnceId: running this batch write again writes all "
                    "rows again. If it fails after it was decided, run it with exactlyOnceId=%s, "
                    "which writes only what is missing; name it before, and it can be run again "
                    "unchanged",
                    run,
                )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        return self.write_task(iterator)

    def commit(self, messages: Messages) -> None:
        """Report the records written; with exactlyOnce, commit them first."""
        self.commit_tasks(messages, None)

    def abort(self, messages: Messages) -> None:
        """Log the failure; without exactlyOnce, written records cannot be removed."""
        self.abort_tasks(messages)


class _StreamWriterBase(_WriterBase):
    """The callbacks that Spark calls on stream writers after each micro-batch."""

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Report the records of the micro-batch; with exactlyOnce, commit them first."""
        self.commit_tasks(messages, batchId)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: ARG002, N803 (Spark's)
        """Log the failure; without exactlyOnce, Spark writes the records again."""
        self.abort_tasks(messages)


class RowStreamWriter(_StreamWriterBase, DataSourceStreamWriter):
    """The writer of ``frame.writeStream.format("ottla")`` for PySpark 4.0, which passes rows."""

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        """Write the rows of one task."""
        typed = frozenset(column.column for column in self._options.typed.each())
        return self.write_task(rows_to_batches(iterator, self._schema, typed))


if hasattr(datasource, "DataSourceStreamArrowWriter"):

    class StreamWriter(_StreamWriterBase, datasource.DataSourceStreamArrowWriter):
        """The writer of ``frame.writeStream.format("ottla")``, from PySpark 4.1 on."""

        def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
            """Write the rows of one task."""
            return self.write_task(iterator)


def make_stream_writer(options: WriteOptions, schema: StructType) -> DataSourceStreamWriter:
    """Return the Arrow writer if this PySpark supports it, else the row writer."""
    if options.exactly_once is not None and options.exactly_once.id is not None:
        raise ConfigError(
            "option exactlyOnceId is for batch queries: a stream has the id of its checkpoint"
        )
    if hasattr(datasource, "DataSourceStreamArrowWriter"):
        return StreamWriter(options, schema)
    return RowStreamWriter(options, schema)


def _prepared(messages: Messages) -> list[PreparedTask]:
    from ottla.spark.writing.exactly_once.task import PreparedTask

    return [message for message in messages if isinstance(message, PreparedTask)]
