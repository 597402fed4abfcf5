"""Plays Spark for the exactly-once sink: runs tasks, commits and restarts, without a session.

A run is one start of a query. What Spark would keep in its processes is forgotten between runs.
Drivers die between the decision and the commits, in place of ``_commit_decided``.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

import ottla
from ottla.spark.options.write_options import WriteOptions, parse_write_options
from ottla.spark.writing.exactly_once import driver, recovery
from ottla.spark.writing.exactly_once.decision import Decision
from ottla.spark.writing.exactly_once.task import PreparedTask, write_exactly_once
from ottla.spark.writing.exactly_once.task_identity import TaskIdentity, WriteIdentity
from ottla.spark.writing.write_schema import fingerprint_of
from tests.cluster.conftest import Brokers
from tests.support.committed import committed_rows

_COMMIT_DECIDED = driver._commit_decided

PARTITIONS = 3
COMPACTED = {"cleanup.policy": "compact"}
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


def commit_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drivers live between the decision and the commits."""
    monkeypatch.setattr(driver, "_commit_decided", _COMMIT_DECIDED)


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
        write = WriteIdentity(self.query, self.run, batch)
        return self.attempt(TaskIdentity(write, partition, attempt), rows)

    def attempt(self, identity: TaskIdentity, rows: Sequence[bytes] | None = None) -> PreparedTask:
        """Run one attempt of a task."""
        partition = identity.partition
        given = rows_of(identity.write.batch, partition) if rows is None else rows
        assert self.options.exactly_once is not None
        return write_exactly_once(
            iter([arrow(given[:2], partition), arrow(given[2:], partition)]),
            self.options,
            self.options.exactly_once,
            identity,
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


class Crash(Exception):
    """The driver dies."""


class Query:
    """A query that writes to a topic, and what readers see of it."""

    def __init__(self, brokers: Brokers, monkeypatch: pytest.MonkeyPatch, **options: str) -> None:
        self.brokers = brokers
        self._options = options
        self.topic = brokers.create_topic(partitions=PARTITIONS)
        self.decisions = brokers.create_topic(partitions=3, config=COMPACTED)
        self.id = f"query-{uuid.uuid4().hex[:8]}"
        self._monkeypatch = monkeypatch

    def options(self) -> WriteOptions:
        """Return the options of the query."""
        return options_for(self.brokers.bootstrap, self.topic, self.decisions, **self._options)

    def run(self, schema: StructType = SCHEMA) -> Run:
        """Start the query again."""
        return Run(self.options(), self.id, schema)

    def values(self, *, all_ended: bool = True) -> list[bytes]:
        """Return what readers see; waits until no transaction holds them back."""
        rows = committed_rows(self.brokers.bootstrap, self.topic, all_ended=all_ended)
        return [row["value"] for row in rows]

    def crash_after(self, commits: int) -> list[ottla.PreparedTransaction]:
        """Let the next driver die after its decision and this number of commits.

        Returns:
            A list that will have the transactions of the decision.
        """
        decided: list[ottla.PreparedTransaction] = []

        def die(
            _admin: ottla.Admin, _write: WriteIdentity, new: Decision, _participants: int
        ) -> None:
            commit_all(self._monkeypatch)
            decided.extend(each.transaction for each in new.participants.values())
            with ottla.Admin(self.brokers.bootstrap) as admin:
                admin.end_prepared_transactions(decided[:commits], commit=True)
            raise Crash

        self._monkeypatch.setattr(driver, "_commit_decided", die)
        return decided

    def lose_after_decision(self, *partitions: int) -> None:
        """Let the transactions of partitions expire after the next decision, before a commit."""

        def lose(
            admin: ottla.Admin, write: WriteIdentity, new: Decision, participants: int
        ) -> None:
            commit_all(self._monkeypatch)
            self.fence([new.participants[each].transaction for each in partitions])
            _COMMIT_DECIDED(admin, write, new, participants)

        self._monkeypatch.setattr(driver, "_commit_decided", lose)

    @contextmanager
    def nothing_is_aborted(self) -> Iterator[None]:
        """Let workers begin a run without aborting what others left, as if they were paused."""
        with self._monkeypatch.context() as patched:
            patched.setattr(recovery, "abort_open", lambda *_, **__: [])
            yield

    def recreate_decisions(self) -> None:
        """Delete the topic of decisions, and create it again."""
        self.brokers.cluster.delete_topic(self.decisions)
        self.brokers.cluster.create_topic(self.decisions, 3, 3, COMPACTED)

    def fence(self, transactions: list[ottla.PreparedTransaction]) -> None:
        """End transactions as their timeout would, or forget that they were committed."""
        with ottla.Admin(self.brokers.bootstrap) as admin:
            admin.fence_producers([each.transactional_id for each in transactions])


def expected(batches: int, partitions: int = PARTITIONS) -> list[bytes]:
    return [
        value
        for partition in range(partitions)
        for batch in range(batches)
        for value in rows_of(batch, partition)
    ]
