"""Plays Spark for the exactly-once sink: runs tasks, commits and restarts, without a session.

A run is one start of a query. What Spark would keep in its processes is forgotten between runs.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from ottla.spark.options.write_options import WriteOptions, parse_write_options
from ottla.spark.writing.exactly_once import driver, recovery
from ottla.spark.writing.exactly_once.task import PreparedTask, write_exactly_once
from ottla.spark.writing.exactly_once.task_identity import TaskIdentity, WriteIdentity
from ottla.spark.writing.write_schema import fingerprint_of

SCHEMA = StructType([StructField("value", BinaryType()), StructField("partition", IntegerType())])


def options_for(bootstrap: str, topic: str, decisions: str, **more: str) -> WriteOptions:
    """Return the options of an exactly-once write."""
    return parse_write_options(
        {
            "kafka.bootstrap.servers": bootstrap,
            "topic": topic,
            "exactlyOnce": "true",
            "exactlyOnceTopic": decisions,
            **{name.replace("__", "."): value for name, value in more.items()},
        }
    )


def rows_of(batch: int, partition: int, count: int = 5) -> list[bytes]:
    """Return the same rows each time for a task of a batch."""
    return [b"%d-%d-%d" % (batch, partition, number) for number in range(count)]


def arrow(rows: Sequence[bytes], partition: int) -> pa.RecordBatch:
    """Return rows as Spark would pass them."""
    columns = {
        "value": pa.array(rows, pa.binary()),
        "partition": pa.array([partition] * len(rows), pa.int32()),
    }
    return pa.RecordBatch.from_pydict(columns)


def forget() -> None:
    """Forget what processes of Spark know; nothing that is open is closed."""
    recovery._recoveries.clear()


@dataclass
class Run:
    """One start of a query."""

    options: WriteOptions
    query: str
    schema: StructType = SCHEMA
    run: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        forget()

    def task(
        self,
        batch: int,
        partition: int,
        rows: Sequence[bytes] | None = None,
        attempt: int = 0,
    ) -> PreparedTask:
        """Run a task, which writes its rows to the Kafka partition of the same number."""
        given = rows_of(batch, partition) if rows is None else rows
        write = WriteIdentity(self.query, self.run, batch)
        assert self.options.exactly_once is not None
        return write_exactly_once(
            iter([arrow(given[:2], partition), arrow(given[2:], partition)]),
            self.options,
            self.options.exactly_once,
            TaskIdentity(write, partition, attempt),
            fingerprint_of(self.schema, self.options),
        )

    def tasks(
        self, batch: int, partitions: int, rows: Mapping[int, Sequence[bytes]] | None = None
    ) -> list[PreparedTask]:
        """Run the tasks of a batch."""
        given = rows or {}
        return [self.task(batch, number, given.get(number)) for number in range(partitions)]

    def commit(self, messages: Sequence[PreparedTask]) -> None:
        """Commit a batch as the driver does."""
        assert self.options.exactly_once is not None
        driver.commit_batch(messages, self.options.kafka, self.options.exactly_once)

    def abort(self, batch: int, messages: Sequence[PreparedTask]) -> bool:
        """Abort a batch as the driver does; return whether it is decided."""
        assert self.options.exactly_once is not None
        write = WriteIdentity(self.query, self.run, batch)
        return driver.abort_batch(write, messages, self.options.kafka, self.options.exactly_once)
