"""The transactional ids of Spark's task attempts, with retried stages, on the mock and on Kafka."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pyspark import TaskContext

import ottla
from ottla.spark.writing.exactly_once.task_identity import (
    TaskIdentity,
    WriteIdentity,
    task_identity,
)
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import PARTITIONS, Query, Run, expected

_task_numbers = itertools.count(100)


@pytest.fixture
def query(brokers: Brokers, transaction_version: int, monkeypatch: pytest.MonkeyPatch) -> Query:
    assert transaction_version in {0, 2}
    return Query(brokers, monkeypatch)


@pytest.fixture(autouse=True)
def _task_context() -> Iterator[None]:
    yield
    TaskContext._setTaskContext(None)


def begin_task(run: Run, batch: int, partition: int, *, streaming: bool = False) -> TaskIdentity:
    """Return the identity of the first attempt of a task in a new attempt of its stage.

    Spark numbers the attempts of a task from 0 in each attempt of its stage, but counts all task
    attempts of the application.
    """
    properties = {
        "sql.streaming.queryId": run.query,
        "spark.jobGroup.id": run.run,
        "streaming.sql.batchId": str(batch),
    }
    # Otherwise the same object would change.
    TaskContext._setTaskContext(None)
    TaskContext.from_json(
        {
            "stageId": 7 + batch,
            "partitionId": partition,
            "attemptNumber": 0,
            "taskAttemptId": next(_task_numbers),
            "cpus": 1,
            "resources": {},
            "localProperties": properties if streaming else {},
        }
    )
    return task_identity(None if streaming else WriteIdentity(run.query, run.run, batch))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("winner", [0, 1])
def test_attempts_of_a_retried_stage_do_not_fence_each_other(
    query: Query, winner: int, streaming: bool
) -> None:
    run = query.run()
    if streaming:
        # The ids of an earlier batch are used again, by one of the attempts alone.
        run.commit([run.attempt(begin_task(run, 0, n, streaming=True)) for n in range(PARTITIONS)])
    batch = int(streaming)
    messages = [
        run.attempt(begin_task(run, batch, number, streaming=streaming))
        for number in range(PARTITIONS)
    ]
    # An executor was lost: the stage runs again while its tasks go on, and either attempt may win.
    twins = [
        run.attempt(begin_task(run, batch, number, streaming=streaming))
        for number in range(PARTITIONS)
    ]
    run.commit([*(twins if winner else messages)[:2], messages[2]])
    assert query.values() == expected(batch + 1)


def test_what_attempts_of_a_retried_stage_left_is_aborted_by_the_next_run(query: Query) -> None:
    dead = query.run()
    for _ in range(2):
        for number in range(PARTITIONS):
            dead.attempt(begin_task(dead, 0, number, streaming=True))
    run = query.run()
    run.commit([run.attempt(begin_task(run, 0, n, streaming=True)) for n in range(PARTITIONS)])
    # Nothing is left open that would hold readers back.
    assert query.values() == expected(1)


def test_a_stream_does_not_use_new_transactional_ids_in_each_batch(query: Query) -> None:
    run = query.run()
    for batch in range(4):
        tasks = [begin_task(run, batch, number, streaming=True) for number in range(PARTITIONS)]
        run.commit([run.attempt(task) for task in tasks])
    with ottla.Admin(query.brokers.bootstrap) as admin:
        pattern = WriteIdentity(run.query, run.run, 0).id_pattern()
        listed = admin.list_transactions(id_pattern=pattern)
    assert len(listed) == PARTITIONS
    assert query.values() == expected(4)
