"""A topic of decisions that was lost, or that brokers would clean, is noticed in time."""

from __future__ import annotations

import re
import uuid

import pytest

import ottla
from ottla import errors
from ottla.admin import ConfigResource
from ottla.testing import MockCluster
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import (
    COMPACTED,
    PARTITIONS,
    Crash,
    Query,
    Run,
    expected,
    options_for,
    rows_of,
)
from tests.support.kafka_admin import wait_until

LOST = "has no decision of .*, although this query has run before"


@pytest.fixture
def query(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> Query:
    return Query(brokers, monkeypatch)


def visible_after_a_crash(query: Query) -> list[bytes]:
    """Decide a batch and commit one transaction; return what readers see."""
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    query.crash_after(1)
    with pytest.raises(Crash):
        run.commit(run.tasks(1, PARTITIONS))
    # A coordinator confirms a commit before the partition has its marker.
    committed = len(expected(1)) + len(rows_of(1, 0))
    seen: list[bytes] = []

    def all_committed_are_visible() -> bool:
        seen[:] = query.values(all_ended=False)
        return len(seen) == committed

    wait_until(all_committed_are_visible, lambda: f"{len(seen)} of {committed} are visible")
    return seen


def test_a_topic_of_decisions_that_was_deleted_is_noticed(query: Query) -> None:
    before = visible_after_a_crash(query)
    query.recreate_decisions()
    for _ in range(2):
        with pytest.raises(errors.StateError, match=LOST):
            query.run().task(1, 0)
    assert query.values(all_ended=False) == before


def test_brokers_that_cannot_tell_a_loss_from_a_first_run_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: on brokers before Kafka 3.0, a lost topic was taken for a first run silently."""

    def warnings() -> list[str]:
        return [text for text in caplog.messages if "taken for its first run" in text]

    with MockCluster(without=["ListTransactions", "DescribeTransactions"]) as cluster:
        query = Query(Brokers(cluster), monkeypatch)
        for batch in (0, 1):
            run = query.run()
            run.commit(run.tasks(batch, PARTITIONS))
        [first] = warnings()
        assert query.id in first
        assert query.decisions in first
        assert "Kafka 3.0" in first
        query.recreate_decisions()
        query.run().task(2, 0)
        assert len(warnings()) == 2


def test_another_topic_of_decisions_is_noticed(query: Query) -> None:
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    query.decisions = query.brokers.create_topic(partitions=3, config=COMPACTED)
    with pytest.raises(errors.StateError, match="exactlyOnceTopic changed"):
        query.run().task(0, 0)
    assert query.values() == expected(1)


def test_decisions_that_are_lost_during_a_batch_are_noticed(query: Query) -> None:
    run = query.run()
    run.commit(run.tasks(0, PARTITIONS))
    messages = run.tasks(1, PARTITIONS)
    query.recreate_decisions()
    with pytest.raises(errors.StateError, match=LOST):
        run.commit(messages)
    # It may be decided: nothing is committed, and nothing is aborted.
    with pytest.raises(errors.StateError, match=LOST):
        run.abort(1, messages)
    transactions = [each.participant.transaction for each in messages if each.participant]
    assert query.values(all_ended=False) == expected(1)
    with ottla.Admin(query.brokers.bootstrap) as admin:
        # Brokers refuse to commit what was aborted.
        admin.end_prepared_transactions(transactions, commit=True)
    assert query.values() == expected(2)


def test_a_run_that_failed_before_its_first_decision_is_no_loss(query: Query) -> None:
    run = query.run()
    messages = run.tasks(0, PARTITIONS)
    first = messages[0].participant
    assert first is not None
    query.fence([first.transaction])
    # The coordinator knows the driver from now on, and there is no decision.
    with pytest.raises(errors.StateError, match="is not decided"):
        run.commit(messages)
    run.abort(0, messages)
    again = query.run()
    again.commit(again.tasks(0, PARTITIONS))
    assert query.values() == expected(1)


def delete_records(brokers: Brokers, topic: str, partition: int, before: int) -> None:
    """Delete records as soon as the leader knows that the topic is not compacted."""

    def delete() -> bool:
        brokers.delete_records(topic, partition, before)
        return True

    wait_until(delete, lambda: f"the records of {topic}-{partition} could not be deleted")


def test_a_marker_that_was_deleted_is_noticed(query: Query) -> None:
    run = query.run()
    decided = query.crash_after(PARTITIONS)
    messages = run.tasks(0, PARTITIONS)
    with pytest.raises(Crash):
        run.commit(messages)
    assert query.values() == expected(1)
    # The coordinators have forgotten what became of the transactions; only markers know.
    query.fence(decided)
    resource = ConfigResource("topic", query.decisions)
    with ottla.Client(query.brokers.bootstrap) as client, ottla.Admin(client) as admin:
        admin.alter_configs({resource: {"cleanup.policy": "delete"}})
        markers = [(query.decisions, 1), (query.decisions, 2)]
        ends = client.list_offsets(dict.fromkeys(markers, "latest"))
        for place in markers:
            delete_records(query.brokers, *place, ends[place].offset or 0)
        admin.alter_configs({resource: COMPACTED})
    raised: list[errors.KafkaError] = []

    def the_topic_is_compacted() -> bool:
        with pytest.raises(errors.KafkaError) as error:
            query.run().task(0, 0)
        raised.append(error.value)
        return not isinstance(error.value, errors.ConfigError)

    # The configuration reaches the brokers one after the other.
    wait_until(the_topic_is_compacted, lambda: str(raised[-1]))
    assert isinstance(raised[-1], errors.StateError)
    assert re.search(r"is gone, .* as committed", str(raised[-1]))
    assert query.values() == expected(1)


@pytest.mark.parametrize(
    ("config", "policy"),
    [
        ({"cleanup.policy": "delete"}, "delete"),
        ({"cleanup.policy": "compact,delete"}, "compact,delete"),
        # As created without a configuration.
        ({"retention.ms": "604800000"}, "delete"),
        ({"retention.bytes": "1000000"}, "delete"),
    ],
)
def test_a_topic_of_decisions_that_brokers_clean_is_refused(
    brokers: Brokers, config: dict[str, str], policy: str
) -> None:
    topic = brokers.create_topic(partitions=PARTITIONS)
    decisions = brokers.create_topic(partitions=3, config=config)
    run = Run(options_for(brokers.bootstrap, topic, decisions), uuid.uuid4().hex)
    with pytest.raises(errors.ConfigError, match=f"cleanup.policy={policy}.* must be compact"):
        run.task(0, 0)


def test_a_topic_of_decisions_that_keeps_all_records_is_accepted(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=PARTITIONS)
    decisions = brokers.create_topic(partitions=3, config={"retention.ms": "-1"})
    run = Run(options_for(brokers.bootstrap, topic, decisions), uuid.uuid4().hex)
    run.commit(run.tasks(0, PARTITIONS))


def test_a_topic_that_is_created_has_a_replica_on_each_broker(brokers: Brokers) -> None:
    """With one, a broker that stopped left a transaction open for ever."""
    topic, decisions = brokers.create_topic(partitions=PARTITIONS), f"decisions-{uuid.uuid4().hex}"
    run = Run(options_for(brokers.bootstrap, topic, decisions), uuid.uuid4().hex)
    run.commit(run.tasks(0, PARTITIONS))
    with ottla.Admin(brokers.bootstrap) as admin:
        partitions = admin.describe_topics([decisions])[decisions].partitions
        assert {len(each.replicas) for each in partitions} == {3}
        admin.delete_topics([decisions])
