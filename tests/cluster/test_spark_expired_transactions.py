"""Nothing is decided after a task's transaction has expired, and errors say how to go on."""

from __future__ import annotations

import re
import time
import uuid

import pytest

import ottla
from ottla import errors
from ottla.spark.writing.exactly_once import driver
from ottla.spark.writing.exactly_once.decision_log import DecisionLog
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity
from ottla.testing import MockCluster
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import PARTITIONS, Crash, Query, Run, expected
from tests.support.kafka_admin import wait_until


@pytest.fixture
def query(brokers: Brokers, transaction_version: int, monkeypatch: pytest.MonkeyPatch) -> Query:
    assert transaction_version in {0, 2}
    return Query(brokers, monkeypatch)


def decision_of(query: Query) -> object:
    with ottla.Client(config=query.options().kafka) as client:
        return DecisionLog(client, query.decisions).last_decision(query.id)


def assert_not_decided(query: Query, run: Run, match: str) -> None:
    """Commit a batch in which a transaction is over; then run the query again, as it says."""
    messages = run.tasks(1, PARTITIONS)
    lost = messages[1].participant
    assert lost is not None
    query.fence([lost.transaction])
    with pytest.raises(errors.StateError, match=match):
        run.commit(messages)
    assert not run.abort(1, messages)
    assert query.values() == expected(1)
    again = query.run()
    again.commit(again.tasks(1, PARTITIONS))
    assert query.values() == expected(2)


def test_a_batch_with_an_expired_transaction_is_not_decided(query: Query) -> None:
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    assert_not_decided(query, run, r"batch 1 of .* is not decided.* Run the query again")


def test_a_batch_is_not_decided_shortly_before_a_transaction_expires(
    brokers: Brokers, transaction_version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert transaction_version in {0, 2}
    query = Query(brokers, monkeypatch, kafka__transaction__timeout__ms="1500")
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    first = messages[0].participant
    assert first is not None
    name = first.transaction.transactional_id
    with ottla.Admin(brokers.bootstrap) as admin:
        opened = admin.describe_transactions([name])[name].start_time
        assert opened is not None
        wait_until(lambda: time.time() > opened / 1000 + 1.2, lambda: "the clock stands still")
    with pytest.raises(errors.StateError, match=r"is not decided.*transaction\.timeout\.ms"):
        run.commit(messages)
    assert decision_of(query) is None
    assert not run.abort(0, messages)
    assert query.values() == []


def test_brokers_that_do_not_describe_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Kafka 3.0, the times of the tasks count."""
    without = ["DescribeTransactions", "ListTransactions"]
    with MockCluster(without=without) as cluster:
        more = {"kafka__transaction__timeout__ms": "1500"}
        query = Query(Brokers(cluster), monkeypatch, **more)
        run = query.run()
        run.commit(run.tasks(0, PARTITIONS))
        messages = run.tasks(1, PARTITIONS)
        opened = messages[0].open_time
        assert opened is not None
        wait_until(lambda: opened.seconds_left() < 0.3, lambda: "the clock stands still")
        with pytest.raises(errors.StateError, match="is not decided"):
            run.commit(messages)
        run.abort(1, messages)
        again = query.run()
        again.commit(again.tasks(1, PARTITIONS))
        assert query.values() == expected(2)


def test_the_clock_of_the_driver_does_not_matter(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: 9e9)
        run.commit(messages)
    assert query.values() == expected(1)


def test_a_transaction_that_something_else_committed_is_not_written_again(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    first = messages[0].participant
    assert first is not None
    with ottla.Admin(query.brokers.bootstrap) as admin:
        admin.end_prepared_transactions([first.transaction], commit=True)
    with pytest.raises(errors.StateError, match=r"something else .* do not run the query again"):
        run.commit(messages)
    assert decision_of(query) is None


@pytest.mark.parametrize("kind", ["lost", "crash"])
def test_a_batch_without_an_id_is_completed_as_its_error_says(query: Query, kind: str) -> None:
    """Running it with the id that the error names writes only what is missing."""
    run_id = uuid.uuid4().hex
    run = Run(query.options(), run_id, run=run_id)
    assert WriteIdentity(run.query, run.run, 0).is_unnamed
    messages = run.tasks(0, PARTITIONS)
    if kind == "lost":
        query.lose_after_decision(1)
        with pytest.raises(errors.StateError) as raised:
            run.commit(messages)
        said = re.search(r"Run the query again with the option exactlyOnceId=(\w+)", str(raised))
        assert said is not None
        name = said[1]
    else:
        query.crash_after(1)
        with pytest.raises(Crash):
            run.commit(messages)
        # What the warning before the write says.
        name = run_id
    for _ in range(2):
        again = Run(query.options(), name)
        again.commit(again.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


def test_a_decided_batch_whose_commits_fail_says_how_to_complete_it(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = uuid.uuid4().hex
    run = Run(query.options(), run_id, run=run_id)
    messages = run.tasks(0, PARTITIONS)

    def fail(*_: object, **__: object) -> None:
        raise errors.TimeoutError("no coordinator")

    with monkeypatch.context() as patched:
        patched.setattr(driver, "end_all", fail)
        with pytest.raises(errors.StateError, match=rf"is decided.* exactlyOnceId={run_id}: it"):
            run.commit(messages)
    again = Run(query.options(), run_id)
    again.commit(again.tasks(0, PARTITIONS))
    assert query.values() == expected(1)
