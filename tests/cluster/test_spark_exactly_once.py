"""The exactly-once sink without Spark: crashes at each step, on the mock and on Kafka."""

from __future__ import annotations

import multiprocessing
import os
import random
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

import ottla
from ottla import errors
from ottla.spark.writing.exactly_once import driver
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity
from ottla.testing import MockCluster
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import PARTITIONS, Crash, Query, Run, commit_all, expected, rows_of

# OTTLA_SEEDS=200 is a longer run; OTTLA_SEED=7 repeats one.
SEEDS = range(int(os.environ.get("OTTLA_SEEDS", "4")))
if "OTTLA_SEED" in os.environ:
    SEEDS = range(int(os.environ["OTTLA_SEED"]), int(os.environ["OTTLA_SEED"]) + 1)


@pytest.fixture
def query(brokers: Brokers, transaction_version: int, monkeypatch: pytest.MonkeyPatch) -> Query:
    assert transaction_version in {0, 2}
    return Query(brokers, monkeypatch)


def test_batches_are_visible_when_they_are_committed(query: Query) -> None:
    run = query.run()
    for batch in range(3):
        messages = run.tasks(batch, PARTITIONS)
        assert query.values(all_ended=False) == expected(batch)
        run.commit(messages)
        assert query.values() == expected(batch + 1)
    assert [sum(part.records for part in m.partitions.values()) for m in messages] == [5] * 3
    again = query.run()
    again.commit(again.tasks(3, PARTITIONS))
    assert query.values() == expected(4)


@pytest.mark.parametrize("commits", [0, 1, PARTITIONS])
def test_a_decided_batch_is_completed(query: Query, commits: int) -> None:
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    query.crash_after(commits)
    with pytest.raises(Crash):
        run.commit(run.tasks(1, PARTITIONS))
    again = query.run()
    messages = again.tasks(1, PARTITIONS)
    assert all(message.is_committed for message in messages)
    assert [message.participant.rows for message in messages if message.participant] == [5] * 3
    again.commit(messages)
    again.commit(again.tasks(2, PARTITIONS))
    assert query.values() == expected(3)


def test_what_was_not_decided_is_aborted_and_written_again(query: Query) -> None:
    dead = query.run()
    dead.tasks(0, PARTITIONS)
    # Killed while it wrote: prepared transactions and one in the middle.
    dead.task(1, 0, attempt=3)
    again = query.run()
    again.commit(again.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


@pytest.mark.parametrize("commits", [0, 2])
def test_a_decided_transaction_that_timed_out_is_written_again(query: Query, commits: int) -> None:
    run = query.run()
    decided = query.crash_after(commits)
    with pytest.raises(Crash):
        run.commit(run.tasks(0, PARTITIONS))
    query.fence(decided[commits:])
    again = query.run()
    messages = again.tasks(0, PARTITIONS)
    assert [message.is_committed for message in messages] == [n < commits for n in range(3)]
    # It dies once more, with both kinds of transactions in its decision.
    query.crash_after(0)
    with pytest.raises(Crash):
        again.commit(messages)
    last = query.run()
    last.commit(last.tasks(0, PARTITIONS))
    last.commit(last.tasks(1, PARTITIONS))
    assert query.values() == expected(2)


def test_markers_tell_what_coordinators_have_forgotten(query: Query) -> None:
    run = query.run()
    decided = query.crash_after(PARTITIONS)
    with pytest.raises(Crash):
        run.commit(run.tasks(0, PARTITIONS))
    # From now on, the coordinators only know that others use the ids.
    query.fence(decided)
    again = query.run()
    messages = again.tasks(0, PARTITIONS)
    assert all(message.is_committed for message in messages)
    again.commit(messages)
    assert query.values() == expected(1)


def test_a_participant_that_is_lost_after_the_decision_fails_the_batch(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    query.lose_after_decision(1)
    with pytest.raises(errors.StateError, match=r"1 of 3 transactions .* Run the query again"):
        run.commit(messages)
    assert run.abort(0, messages)
    again = query.run()
    again.commit(again.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


def test_abort_ends_what_is_not_decided_and_nothing_else(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    assert not run.abort(0, messages[:1])
    assert query.values() == []
    again = query.run()
    messages = again.tasks(0, PARTITIONS)
    query.crash_after(1)
    with pytest.raises(Crash):
        again.commit(messages)
    # Spark calls abort after a commit that failed.
    assert again.abort(0, messages)
    last = query.run()
    last.commit(last.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


def test_abort_fences_attempts_that_have_not_written_yet(query: Query) -> None:
    run = query.run()
    message = run.task(0, 0)
    late = WriteIdentity(query.id, run.run, 0).transactional_id(1, 0)
    producer = ottla.Producer(query.brokers.bootstrap, transactional_id=late)
    producer.init_transactions()
    assert not run.abort(0, [message])
    with pytest.raises(errors.FencedError):
        write_late(producer, query.topic)
    assert query.values() == []


def write_late(producer: ottla.Producer, topic: str) -> None:
    with producer:
        producer.begin_transaction()
        producer.send(topic, b"late").result()


def test_speculative_attempts_do_not_disturb_each_other(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    twin = run.task(0, 1, attempt=1)
    # Spark takes the first one that ends, and kills the other one at any moment.
    run.commit([messages[0], twin, messages[2]])
    assert query.values() == expected(1)
    late_worker = Run(run.options, run.query, run=run.run)
    with pytest.raises(errors.StateError, match="came too late"):
        late_worker.task(0, 2, attempt=2)


def test_a_zombie_driver_commits_nothing(query: Query) -> None:
    zombie = query.run()
    its_messages = zombie.tasks(0, PARTITIONS)
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    with pytest.raises(errors.StateError, match="decided by another driver"):
        zombie.commit(its_messages)
    assert query.values() == expected(1)
    # The other driver continues.
    run.commit(run.tasks(1, PARTITIONS))
    assert query.values() == expected(2)


def test_a_driver_that_another_one_overtakes_commits_nothing(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    zombie = query.run()
    its_messages = zombie.tasks(0, PARTITIONS)
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    check = driver._check_last

    def overtaken(*arguments: Any) -> None:
        monkeypatch.setattr(driver, "_check_last", check)
        run.commit(messages)
        check(*arguments)

    monkeypatch.setattr(driver, "_check_last", overtaken)
    with pytest.raises(errors.FencedError, match="another driver runs the query"):
        zombie.commit(its_messages)
    assert query.values() == expected(1)


def test_processes_that_commit_in_turns_do_not_fence_each_other(query: Query) -> None:
    run = query.run()
    kafka, exactly_once = run.options.kafka, run.options.exactly_once
    assert exactly_once is not None
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        processes = [
            stack.enter_context(ProcessPoolExecutor(1, mp_context=spawn)) for _ in range(2)
        ]
        for batch in range(3):
            messages = run.tasks(batch, PARTITIONS)
            process = processes[batch % 2]
            process.submit(driver.commit_batch, messages, kafka, exactly_once).result(timeout=60)
    assert query.values() == expected(3)


def test_a_zombie_decides_nothing_once_the_next_run_has_begun(query: Query) -> None:
    zombie = query.run()
    its_messages = zombie.tasks(0, PARTITIONS)
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    # The tasks of the run have aborted those of the zombie.
    with pytest.raises(errors.StateError, match="is not decided"):
        zombie.commit(its_messages)
    run.commit(messages)
    assert query.values() == expected(1)


def test_a_zombie_that_decides_between_the_tasks_and_the_commit(query: Query) -> None:
    zombie = query.run()
    its_messages = zombie.tasks(0, PARTITIONS)
    # Its successor has read the decisions, and not yet aborted what the zombie left.
    run = Run(zombie.options, query.id)
    with query.nothing_is_aborted():
        messages = run.tasks(0, PARTITIONS)
    zombie.commit(its_messages)
    with pytest.raises(errors.StateError, match="decided by another driver"):
        run.commit(messages)
    run.abort(0, messages)
    last = query.run()
    last.commit(last.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


def test_a_batch_that_changed_fails_loudly(query: Query) -> None:
    run = query.run()
    query.crash_after(1)
    with pytest.raises(Crash):
        run.commit([*run.tasks(1, PARTITIONS - 1), run.task(1, 2, rows=[])])
    with pytest.raises(errors.StateError, match="had 5 rows when it was decided, and has 4 now"):
        query.run().task(1, 0, rows=rows_of(1, 0)[:4])
    with pytest.raises(errors.StateError, match=r"had 0 rows .* and has 5 now"):
        query.run().task(1, 2)
    with pytest.raises(errors.StateError, match="other columns or options"):
        query.run(StructType([StructField("value", BinaryType())])).task(1, 0)
    with pytest.raises(errors.StateError, match="checkpoint is older"):
        query.run().task(0, 0)
    last = query.run()
    last.commit([*last.tasks(1, PARTITIONS - 1), last.task(1, 2, rows=[])])
    assert query.values() == [value for part in (0, 1) for value in rows_of(1, part)]


def test_tasks_without_rows_open_no_transaction(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS, {number: [] for number in range(PARTITIONS)})
    assert [message.participant for message in messages] == [None] * 3
    run.commit(messages)
    with ottla.Admin(query.brokers.bootstrap) as admin:
        assert [t for t in admin.list_transactions() if query.id in t.transactional_id] == []
    run.commit([run.task(1, 0), run.task(1, 1, rows=[]), run.task(1, 2)])
    assert query.values() == [value for part in (0, 2) for value in rows_of(1, part)]


def crash_somewhere(query: Query, run: Run, batch: int, rng: random.Random) -> bool:
    """Run a batch with one random failure, or none; return whether it is committed."""
    kind = rng.choice(["none", "none", "tasks", "before", "decided", "lost", "abort"])
    if kind == "tasks":
        run.tasks(batch, rng.randint(1, PARTITIONS))
        return False
    messages = run.tasks(batch, PARTITIONS)
    if rng.random() < 0.3:
        # A speculative attempt, which may win.
        partition = rng.randrange(PARTITIONS)
        twin = run.task(batch, partition, attempt=1)
        if rng.random() < 0.5:
            messages[partition] = twin
    if kind == "before":
        return False
    if kind == "abort":
        run.abort(batch, messages)
        return False
    if kind in {"decided", "lost"}:
        commits = rng.randint(0, PARTITIONS)
        decided = query.crash_after(commits)
        try:
            run.commit(messages)
        except Crash:
            if rng.random() < 0.5:
                run.abort(batch, messages)
            if kind == "lost":
                query.fence([each for each in decided if rng.random() < 0.5])
            return False
        # Every task had been committed before: there was nothing to decide.
        query.crash_after(0)
        return True
    run.commit(messages)
    return True


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_crashes(
    mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, level: int, seed: int
) -> None:
    rng = random.Random(seed)
    mock_cluster.set_transaction_version(level)
    query = Query(Brokers(mock_cluster), monkeypatch)
    batches = 4
    for batch in range(batches):
        for _ in range(20):
            commit_all(monkeypatch)
            if crash_somewhere(query, query.run(), batch, rng):
                break
        else:
            pytest.fail("no run succeeded")
    commit_all(monkeypatch)
    assert query.values() == expected(batches)
