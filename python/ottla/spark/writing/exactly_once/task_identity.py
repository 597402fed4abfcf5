"""Which task this is, and the transactional ids that follow from it.

Invariant: no two attempts share a transactional id, so an attempt that starts cannot abort another
one that is prepared. The run is part of it, so what a dead run left can be told from what runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark import TaskContext

from ottla.errors import StateError

# Spark's names; private, but the same in all versions from 4.0 to 4.3.
_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
_RUN_ID = "spark.jobGroup.id"

_PREFIX = "ottla"
# Not allowed in the name of a query, so that no query's ids begin with those of another.
_SEPARATOR = "/"


@dataclass(frozen=True)
class WriteIdentity:
    """One write: a micro-batch of a stream, or a batch query.

    Attributes:
        query: the query's id, which is the same after a restart.
        run: the id of this start of the query.
        batch: the number of the micro-batch; 0 for a batch query.
    """

    query: str
    run: str
    batch: int

    def transactional_id(self, partition: int, attempt: int) -> str:
        """Return the id of a task's transactions."""
        parts = (_PREFIX, self.query, self.run, str(partition), str(attempt))
        return _SEPARATOR.join(parts)

    def driver_transactional_id(self) -> str:
        """Return the id with which drivers of the query write decisions."""
        return _SEPARATOR.join((_PREFIX, self.query, "driver"))

    def id_pattern(self) -> str:
        """Return a regular expression for the transactional ids of the query's tasks."""
        query = re.escape(self.query)
        return f"{_PREFIX}{_SEPARATOR}{query}{_SEPARATOR}[^/]+{_SEPARATOR}[0-9]+{_SEPARATOR}[0-9]+"

    def is_of_this_run(self, transactional_id: str) -> bool:
        """Whether a transactional id of this query is one of this run's tasks."""
        return transactional_id.split(_SEPARATOR)[2] == self.run


@dataclass(frozen=True)
class TaskIdentity:
    """One attempt of a task."""

    write: WriteIdentity
    partition: int
    attempt: int

    @property
    def transactional_id(self) -> str:
        """The id of its transaction."""
        return self.write.transactional_id(self.partition, self.attempt)


def task_identity(batch_write: WriteIdentity | None) -> TaskIdentity:
    """Return the identity of the running task; that of a stream's write comes from Spark.

    Args:
        batch_write: the write of a batch query, or None in a stream.
    """
    context = TaskContext.get()
    if context is None:
        raise StateError("exactlyOnce: there is no Spark task in this process")
    return TaskIdentity(
        batch_write or _stream_write(context), context.partitionId(), context.attemptNumber()
    )


def _stream_write(context: TaskContext) -> WriteIdentity:
    names = (_QUERY_ID, _RUN_ID, _BATCH_ID)
    query, run, batch = (context.getLocalProperty(name) for name in names)
    if query is None or run is None or batch is None:
        raise StateError(
            "exactlyOnce: Spark does not tell this task its query, run and batch "
            f"({', '.join(names)}); write without exactlyOnce"
        )
    return WriteIdentity(query, run, int(batch))
