"""Listing, describing and aborting transactions: the same on the mock and on Kafka."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.support.command import ottla as command
from tests.support.committed import committed_rows
from tests.support.kafka_cluster import KafkaCluster
from tests.support.loops import run

TOOL = "org.apache.kafka.tools.TransactionsCommand"
# Not assigned by any coordinator of the tests.
UNKNOWN_PRODUCER = 987_654_321


def new_id() -> str:
    return f"id-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def admin(brokers: Brokers) -> Iterator[ottla.Admin]:
    with ottla.Admin(brokers.bootstrap) as admin:
        yield admin


def open_transaction(brokers: Brokers, topic: str, transactional_id: str) -> ottla.Producer:
    """Return a producer with an open transaction in partitions 0 and 2."""
    producer = ottla.Producer(brokers.bootstrap, transactional_id=transactional_id)
    producer.init_transactions()
    producer.begin_transaction()
    for partition in (0, 2):
        producer.send(topic, b"open", partition=partition).result(timeout=60)
    return producer


def committed(brokers: Brokers, topic: str, *, all_ended: bool = True) -> list[bytes]:
    rows = committed_rows(brokers.bootstrap, topic, all_ended=all_ended)
    return sorted(row["value"] for row in rows)


def test_an_open_transaction_is_listed_described_and_fenced(
    brokers: Brokers, admin: ottla.Admin
) -> None:
    topic, transactional_id = brokers.create_topic(partitions=3), new_id()
    before = time.time() * 1000
    producer = open_transaction(brokers, topic, transactional_id)
    [listed] = admin.list_transactions(states=["Ongoing"], id_pattern=transactional_id)
    assert (listed.transactional_id, listed.state) == (transactional_id, "Ongoing")
    described = admin.describe_transactions([transactional_id])[transactional_id]
    assert (described.state, described.timeout) == ("Ongoing", 60.0)
    assert described.producer_id == listed.producer_id
    assert sorted(described.partitions) == [(topic, 0), (topic, 2)]
    assert described.start_time is not None
    assert before - 5_000 < described.start_time < time.time() * 1000 + 5_000
    producers = admin.describe_producers([(topic, 0), (topic, 1)])
    assert producers[topic, 1] == []
    [known] = producers[topic, 0]
    assert (known.producer_id, known.transaction_start_offset) == (described.producer_id, 0)
    assert known.last_sequence == 0
    found = admin.list_open_transactions([topic])
    assert [(each.partition, each.start_offset) for each in found] == [(0, 0), (2, 0)]
    assert [each.is_hanging for each in found] == [False, False]
    assert [each.transaction for each in found] == [described, described]
    with pytest.raises(errors.StateError, match=f"{transactional_id} knows it"):
        admin.abort_hanging_transaction(topic, 0, 0)
    if isinstance(brokers.cluster, KafkaCluster):
        shown = brokers.cluster.run_tool(
            TOOL,
            *("--bootstrap-server", brokers.bootstrap, "describe"),
            *("--transactional-id", transactional_id),
        )
        assert str(described.producer_id) in shown
        assert "Ongoing" in shown
    fenced = admin.fence_producers([transactional_id])[transactional_id]
    assert fenced[0] == described.producer_id
    assert fenced[1] > described.producer_epoch
    assert admin.list_open_transactions([topic]) == []
    with pytest.raises(errors.FencedError):
        producer.commit_transaction()
    producer.close()
    assert committed(brokers, topic) == []


def test_a_hanging_transaction_is_found_and_aborted(brokers: Brokers, admin: ottla.Admin) -> None:
    topic = brokers.create_topic(partitions=2)
    with ottla.Producer(brokers.bootstrap) as producer:
        producer.send(topic, b"before", partition=1).result(timeout=60)
        brokers.leave_transaction_hanging(topic, 1, UNKNOWN_PRODUCER, ["hanging-a", "hanging-b"])
        producer.send(topic, b"after", partition=1).result(timeout=60)
    assert committed(brokers, topic, all_ended=False) == [b"before"]
    [found] = admin.list_open_transactions([topic])
    assert (found.partition, found.start_offset, found.is_hanging) == (1, 1, True)
    assert (found.producer_id, found.transaction) == (UNKNOWN_PRODUCER, None)
    with pytest.raises(errors.StateError, match="those that are open start at 1"):
        admin.abort_hanging_transaction(topic, 1, 0)
    with pytest.raises(errors.StateError, match="none is open in this partition"):
        admin.abort_hanging_transaction(topic, 0, 0)
    if isinstance(brokers.cluster, KafkaCluster):
        shown = brokers.cluster.run_tool(
            TOOL,
            *("--bootstrap-server", brokers.bootstrap, "find-hanging"),
            *("--topic", topic, "--max-transaction-timeout", "0"),
        )
        assert str(UNKNOWN_PRODUCER) in shown
    report = ottla.diagnose(brokers.bootstrap, topic=topic)
    [finding] = [each for each in report.findings if each.code == "transaction_hangs"]
    assert f"{topic}-1 at offset 1" in finding.summary
    place = ("-t", topic, "-p", "1", "--start-offset", "1")
    asked = command("transactions", "abort", brokers.bootstrap, *place)
    assert asked.code == 1
    assert "repeat with --yes" in asked.err
    assert committed(brokers, topic, all_ended=False) == [b"before"]
    done = command("transactions", "abort", brokers.bootstrap, *place, "--yes")
    assert (done.code, done.err) == (0, "")
    assert admin.list_open_transactions([topic]) == []
    assert committed(brokers, topic) == [b"after", b"before"]


def test_what_is_not_there_is_a_typed_error(brokers: Brokers, admin: ottla.Admin) -> None:
    topic, known, unknown = brokers.create_topic(), new_id(), new_id()
    with ottla.Producer(brokers.bootstrap, transactional_id=known) as producer:
        producer.init_transactions()
    with pytest.raises(errors.BrokerError, match=f"{unknown}.*TRANSACTIONAL_ID_NOT_FOUND"):
        admin.describe_transactions([known, unknown])
    described = admin.describe_transactions([known, unknown], errors="return")
    state = described[known]
    assert isinstance(state, ottla.TransactionDescription)
    assert (state.state, state.start_time, state.partitions) == ("Empty", None, [])
    assert isinstance(described[unknown], errors.BrokerError)
    with pytest.raises(errors.ConfigError, match="is not a state of transactions"):
        admin.list_transactions(states=["Nonsense"])
    with pytest.raises(errors.ConfigError, match="not a valid regular expression"):
        admin.list_transactions(id_pattern="(")
    with pytest.raises(errors.ConfigError, match='expected "raise" or "return"'):
        admin.describe_transactions([known], errors="ignore")  # type: ignore[call-overload]
    with pytest.raises(errors.UnknownTopicError):
        admin.list_open_transactions([f"{topic}-missing"], timeout=3)
    with pytest.raises(errors.UnknownTopicError):
        admin.describe_producers([(topic, 9)], timeout=3)


def test_filters(brokers: Brokers, admin: ottla.Admin) -> None:
    topic, prefix = brokers.create_topic(partitions=3), new_id()
    with ottla.Producer(brokers.bootstrap, transactional_id=f"{prefix}.idle") as idle:
        idle.init_transactions()
        producer = open_transaction(brokers, topic, f"{prefix}.open")

        def ids(**filters: object) -> list[str]:
            listed = admin.list_transactions(**filters)  # type: ignore[arg-type]
            return [
                each.transactional_id for each in listed if each.transactional_id[:15] == prefix
            ]

        assert ids() == [f"{prefix}.idle", f"{prefix}.open"]
        assert ids(states=["Empty"]) == [f"{prefix}.idle"]
        assert ids(id_pattern=rf"{prefix}\.o.*") == [f"{prefix}.open"]
        assert ids(id_pattern=f"{prefix}.ope") == []
        assert ids(running_longer_than=3600.0) == []
        [listed] = admin.list_transactions(states=["Ongoing"], id_pattern=f"{prefix}.*")
        assert ids(producer_ids=[listed.producer_id]) == [f"{prefix}.open"]
        producer.abort_transaction()
        producer.close()


def test_with_asyncio(brokers: Brokers) -> None:
    topic, transactional_id = brokers.create_topic(partitions=3), new_id()
    producer = open_transaction(brokers, topic, transactional_id)
    brokers.leave_transaction_hanging(topic, 1, UNKNOWN_PRODUCER, ["hanging"])

    async def use() -> None:
        async with ottla.AsyncAdmin(brokers.bootstrap) as admin:
            [listed] = await admin.list_transactions(id_pattern=transactional_id)
            described = await admin.describe_transactions([transactional_id], errors="return")
            state = described[transactional_id]
            assert isinstance(state, ottla.TransactionDescription)
            assert (listed.state, state.producer_id) == ("Ongoing", listed.producer_id)
            producers = await admin.describe_producers([(topic, 0)])
            assert [each.producer_id for each in producers[topic, 0]] == [listed.producer_id]
            found = await admin.list_open_transactions([topic])
            assert [each.is_hanging for each in found] == [False, True, False]
            await admin.abort_hanging_transaction(topic, 1, 0)
            await admin.fence_producers([transactional_id])
            assert await admin.list_open_transactions([topic]) == []
        with pytest.raises(errors.ClosedError):
            await admin.list_transactions()

    run(use())
    with pytest.raises(errors.FencedError):
        producer.abort_transaction()
    producer.close()
