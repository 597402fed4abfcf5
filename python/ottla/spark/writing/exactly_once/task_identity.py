"""Which task this is, and the transactional ids that follow from it.

Invariant: a transactional id belongs to one task attempt of the whole application, stage retries
included, so an attempt that starts cannot abort another one that is prepared. Only the process of
that attempt uses the id again, in a later batch. The run is part of it, so what a dead run left can
be told from what runs.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from dataclasses import dataclass

from pyspark import TaskContext

from ottla.errors import StateError

# Spark's names; private, but the same in all versions from 4.0 to 4.3.
_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"
_RUN_ID = "spark.jobGroup.id"

_MAX_KNOWN = 4096

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

    @property
    def is_unnamed(self) -> bool:
        """Whether it is a batch query without ``exactlyOnceId``, which has a new id each time."""
        return self.query == self.run

    def run_again(self) -> str:
        """Return how to run the write again so that no row is written twice."""
        if self.is_unnamed:
            return f"Run the query again with the option exactlyOnceId={self.query}"
        return "Run the query again"

    def run_as_it_was(self) -> str:
        """Return how to complete a batch that was decided with another plan."""
        remedy = (
            "Run the query once more as it was, with the same rows, plan, options and number of "
            "partitions, until this batch is complete; then change it"
        )
        # Only a batch query begins with batch 0 each time, and it may be another load.
        other = "; or, if these are other rows, write them under another exactlyOnceId"
        return remedy + other if self.batch == 0 else remedy

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
    """One attempt of a task.

    Attributes:
        write: the query, run and batch.
        partition: the task's partition in Spark.
        attempt: the number of a task attempt of the application; see ``_owned_attempt``.
    """

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
    write = batch_write or _stream_write(context)
    partition = context.partitionId()
    # Not attemptNumber(), which starts at 0 again in each retry of a stage.
    attempt = _owned_attempt(write, partition, context.taskAttemptId())
    return TaskIdentity(write, partition, attempt)


# The batch and the attempt whose transactional id this process used last, by process, query, run
# and partition.
_owned: OrderedDict[tuple[int, str, str, int], tuple[int, int]] = OrderedDict()


def _owned_attempt(write: WriteIdentity, partition: int, attempt: int) -> int:
    """Return the attempt that names the transactional id: in a stream, an earlier one if possible.

    Brokers keep an id for days, so a stream must not use new ones in each batch. A process runs one
    task at a time, and its run begins a batch after every transaction of the batch before has
    ended: the id of an attempt that this process ran then is free.
    """
    key = (os.getpid(), write.query, write.run, partition)
    known = _owned.get(key)
    if known is not None and known[0] < write.batch:
        attempt = known[1]
    _owned[key] = (write.batch, attempt)
    _owned.move_to_end(key)
    while len(_owned) > _MAX_KNOWN:
        _owned.popitem(last=False)
    return attempt


def _stream_write(context: TaskContext) -> WriteIdentity:
    names = (_QUERY_ID, _RUN_ID, _BATCH_ID)
    query, run, batch = (context.getLocalProperty(name) for name in names)
    if query is None or run is None or batch is None:
        raise StateError(
            "exactlyOnce: Spark does not tell this task its query, run and batch "
            f"({', '.join(names)}); write without exactlyOnce"
        )
    return WriteIdentity(query, run, int(batch))
