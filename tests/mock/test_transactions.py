"""Transactions of both producers on the mock: failures, lost responses, and records that wait."""

from __future__ import annotations

import asyncio
import pickle

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows
from tests.support.loops import run

CONFIG = {"transactional.id": "billing", "linger.ms": 0}


@pytest.fixture(params=[0, 2])
def level(mock_cluster: MockCluster, request: pytest.FixtureRequest) -> int:
    mock_cluster.set_transaction_version(request.param)
    number: int = request.param
    return number


def initialized(cluster: MockCluster, **config: int) -> ottla.Producer:
    named = {name.replace("_", "."): value for name, value in config.items()}
    producer = ottla.Producer(cluster.bootstrap, {**CONFIG, **named})
    producer.init_transactions()
    return producer


def visible(cluster: MockCluster, topic: str) -> list[bytes]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap, isolation_level="read_committed"))
    return sorted(row["value"] for row in rows)


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_whose_response_is_lost_is_settled(
    mock_cluster: MockCluster, topic: str, when: str
) -> None:
    with initialized(mock_cluster) as producer:
        lost = Fault.disconnect("before") if when == "before" else Fault.disconnect("after")
        mock_cluster.inject(lost, api="EndTxn", times=1)
        with producer.transaction():
            producer.send(topic, b"a")
        with producer.transaction():
            producer.send(topic, b"b")
    assert visible(mock_cluster, topic) == [b"a", b"b"]
    assert mock_cluster.request_count("InitProducerId") == 2


@pytest.mark.usefixtures("level")
def test_a_block_with_a_failed_record_aborts_and_says_why(
    mock_cluster: MockCluster, topic: str
) -> None:
    with initialized(mock_cluster) as producer:
        refused = Fault.error("TOPIC_AUTHORIZATION_FAILED")
        mock_cluster.inject(refused, api="Produce", times=1)
        with pytest.raises(errors.TransactionAbortableError) as failed, producer.transaction():
            producer.send(topic, b"a", partition=0)
        assert failed.value.name == "TOPIC_AUTHORIZATION_FAILED"
        assert not failed.value.fatal
        assert failed.value.context["topic"] == topic
        with producer.transaction():
            producer.send(topic, b"b")
    # The block aborted: the producer's own block does not raise the failure again.
    assert visible(mock_cluster, topic) == [b"b"]


@pytest.mark.usefixtures("level")
def test_a_commit_that_times_out_can_be_repeated(mock_cluster: MockCluster, topic: str) -> None:
    with initialized(mock_cluster) as producer:
        fault = mock_cluster.inject(Fault.error("NOT_COORDINATOR"), api="EndTxn")
        producer.begin_transaction()
        producer.send(topic, b"a")
        with pytest.raises(errors.TimeoutError, match="call it again") as failed:
            producer.commit_transaction(timeout=0.2)
        assert failed.value.retriable
        assert mock_cluster.fault_hits(fault) > 0
        mock_cluster.clear_faults()
        producer.commit_transaction()
    assert visible(mock_cluster, topic) == [b"a"]


def test_a_fenced_producer_is_fatal(mock_cluster: MockCluster, topic: str) -> None:
    producer = initialized(mock_cluster)
    producer.begin_transaction()
    producer.send(topic, b"a").result(timeout=10)
    mock_cluster.fence_producer("billing")
    with pytest.raises(errors.FencedError, match=r"transactional\.id") as fenced:
        producer.commit_transaction()
    assert fenced.value.fatal
    producer.close()
    assert mock_cluster.transactions()["billing"].state == "Empty"
    assert visible(mock_cluster, topic) == []


def test_what_a_commit_has_raised_is_not_raised_again(
    mock_cluster: MockCluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: the block ended with the same error about the transaction's records."""
    with initialized(mock_cluster) as producer:
        producer.begin_transaction()
        producer.send(topic, b"a")
        mock_cluster.fence_producer("billing")
        with pytest.raises(errors.FencedError):
            producer.commit_transaction()
    assert "was not checked" not in caplog.text


def test_without_a_commit_the_block_raises_what_became_of_its_records(
    mock_cluster: MockCluster, topic: str
) -> None:
    def leave() -> None:
        with initialized(mock_cluster) as producer:
            producer.begin_transaction()
            mock_cluster.fence_producer("billing")
            producer.send(topic, b"a")

    with pytest.raises(errors.KafkaError, match="1 record was not written, and its result was not"):
        leave()


def test_without_a_transactional_id(mock_cluster: MockCluster) -> None:
    with (
        ottla.Producer(mock_cluster.bootstrap) as producer,
        pytest.raises(errors.ConfigError, match=r"set transactional\.id"),
        producer.transaction(),
    ):
        pass


@pytest.mark.parametrize("key", ["enable.idempotence", "acks"])
def test_settings_that_transactions_exclude(mock_cluster: MockCluster, key: str) -> None:
    value = {"enable.idempotence": False, "acks": 1}[key]
    with pytest.raises(errors.ConfigError, match=r"transactional\.id"):
        ottla.Producer(mock_cluster.bootstrap, {**CONFIG, key: value})


def test_wrong_arguments(mock_cluster: MockCluster) -> None:
    with initialized(mock_cluster) as producer:
        producer.begin_transaction()
        with pytest.raises(TypeError, match="expected a consumer or its GroupMetadata"):
            producer.send_offsets_to_transaction({("t", 0): 1}, "billing")  # type: ignore[arg-type]
        with pytest.raises(errors.ConfigError, match="pass the offsets"):
            producer.send_offsets_to_transaction(None, ottla.GroupMetadata("g"))
        with pytest.raises(errors.ConfigError, match="0 or more"):
            producer.send_offsets_to_transaction({("t", 0): -1}, ottla.GroupMetadata("g"))
        producer.abort_transaction()


@pytest.mark.usefixtures("level")
def test_offsets_from_another_process(mock_cluster: MockCluster, topic: str) -> None:
    member = pickle.loads(pickle.dumps(ottla.GroupMetadata("g")))
    with initialized(mock_cluster) as producer, producer.transaction():
        producer.send_offsets_to_transaction({(topic, 0): ottla.OffsetAndMetadata(3, "n")}, member)
    assert mock_cluster.committed("g") == {(topic, 0): 3}


def test_asyncio_commits_the_records_that_wait_for_their_topic(mock_cluster: MockCluster) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap, CONFIG) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                # Not awaited: the topic is looked up first.
                sending = [producer.send("new", b"%d" % i) for i in range(10)]
            assert all(future.done() for future in sending)

    run(work())
    assert visible(mock_cluster, "new") == [b"%d" % i for i in range(10)]


def test_asyncio_aborts_the_records_that_wait_for_their_topic() -> None:
    async def work(cluster: MockCluster) -> None:
        async with ottla.AsyncProducer(cluster.bootstrap, CONFIG) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            waiting = [producer.send("missing", b"aborted") for _ in range(3)]
            await asyncio.sleep(0.1)
            await producer.abort_transaction()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(result) for result in results] == [errors.TransactionAbortedError] * 3
            cluster.create_topic("missing")
            async with producer.transaction():
                producer.send("missing", b"committed")
        assert visible(cluster, "missing") == [b"committed"]

    with MockCluster(auto_create_topics=False) as cluster:
        run(work(cluster))


def test_asyncio_cancelling_a_commit_does_not_end_it(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap, CONFIG) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await producer.send(topic, b"a")
            mock_cluster.inject(Fault.delay(0.3), api="EndTxn", times=1)
            committing = producer.commit_transaction()
            await asyncio.sleep(0.05)
            committing.cancel()
            await producer.commit_transaction()

    run(work())
    assert visible(mock_cluster, topic) == [b"a"]


def test_the_coordinator_has_a_connection_of_its_own(mock_cluster: MockCluster, topic: str) -> None:
    with initialized(mock_cluster) as producer:
        with producer.transaction():
            producer.send(topic, b"a")
        roles = {status.role for status in producer.connections() if status.state == "connected"}
    assert roles == {"data", "transaction coordinator"}


def test_the_times_of_calls_are_metrics_by_javas_names(
    mock_cluster: MockCluster, topic: str
) -> None:
    with initialized(mock_cluster) as producer:
        before = producer.metrics()
        assert before["txn-init-time-ns-total"] > 0
        assert before["txn-commit-time-ns-total"] == 0
        with producer.transaction():
            producer.send(topic, b"a")
        producer.begin_transaction()
        with ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer:
            member = consumer.group_metadata()
            producer.send_offsets_to_transaction({(topic, 0): 1}, member)
        producer.abort_transaction()
        after = producer.metrics()
    assert after["txn-begin-time-ns-total"] > 0
    assert after["txn-send-offsets-time-ns-total"] > 0
    assert after["txn-commit-time-ns-total"] > 0
    assert after["txn-abort-time-ns-total"] > 0
