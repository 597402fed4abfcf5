"""A broker that is not the coordinator any more refuses an epoch: that fences nobody."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows


def values(cluster: MockCluster, topic: str) -> list[bytes]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap, isolation_level="read_committed"))
    return sorted(row["value"] for row in rows)


@pytest.fixture
def producer(mock_cluster: MockCluster) -> ottla.Producer:
    mock_cluster.set_transaction_version(2)
    producer = ottla.Producer(
        mock_cluster.bootstrap,
        transactional_id="billing",
        linger_ms=0,
        # The refusals that are repeated take little time.
        retry_backoff_ms=10,
        retry_backoff_max_ms=20,
    )
    producer.init_transactions()
    return producer


@pytest.mark.parametrize("code", ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"])
def test_a_commit_goes_on_when_the_coordinator_knows_the_epoch(
    mock_cluster: MockCluster, topic: str, producer: ottla.Producer, code: str
) -> None:
    with producer:
        fault = mock_cluster.inject(Fault.error(code), api="EndTxn", times=2)
        with producer.transaction():
            producer.send(topic, b"a")
        assert mock_cluster.fault_hits(fault) == 2
    assert values(mock_cluster, topic) == [b"a"]


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction"])
def test_an_end_whose_response_was_lost_is_confirmed(
    mock_cluster: MockCluster, topic: str, producer: ottla.Producer, call: str
) -> None:
    with producer:
        producer.begin_transaction()
        producer.send(topic, b"a").result(timeout=10)
        lost = mock_cluster.inject(Fault.disconnect("after"), api="EndTxn", times=1)
        refused = mock_cluster.inject(Fault.error("PRODUCER_FENCED"), api="EndTxn", times=1)
        getattr(producer, call)()
        assert [mock_cluster.fault_hits(each) for each in (lost, refused)] == [1, 1]
        with producer.transaction():
            producer.send(topic, b"b")
    ended = [b"a"] if call == "commit_transaction" else []
    assert values(mock_cluster, topic) == [*ended, b"b"]


@pytest.mark.parametrize("code", ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"])
def test_an_abort_goes_on_when_the_coordinator_knows_the_epoch(
    mock_cluster: MockCluster, topic: str, producer: ottla.Producer, code: str
) -> None:
    with producer:
        producer.begin_transaction()
        producer.send(topic, b"aborted").result(timeout=10)
        fault = mock_cluster.inject(Fault.error(code), api="EndTxn", times=2)
        producer.abort_transaction()
        assert mock_cluster.fault_hits(fault) == 2
        with producer.transaction():
            producer.send(topic, b"b")
    assert values(mock_cluster, topic) == [b"b"]


def test_a_refusal_that_does_not_pass_is_an_error(
    mock_cluster: MockCluster, topic: str, producer: ottla.Producer
) -> None:
    with producer:
        producer.begin_transaction()
        producer.send(topic, b"a")
        fault = mock_cluster.inject(Fault.error("PRODUCER_FENCED"), api="EndTxn")
        with pytest.raises(errors.TransactionAbortableError, match="call abort_transaction"):
            producer.commit_transaction()
        mock_cluster.remove_fault(fault)
        producer.abort_transaction()
    assert values(mock_cluster, topic) == []


def test_an_abort_of_a_fenced_producer_is_an_error(
    mock_cluster: MockCluster, topic: str, producer: ottla.Producer
) -> None:
    producer.begin_transaction()
    producer.send(topic, b"a").result(timeout=10)
    mock_cluster.fence_producer("billing")
    with pytest.raises(errors.FencedError, match=r"abort_transaction of billing"):
        producer.abort_transaction()
    producer.close()
