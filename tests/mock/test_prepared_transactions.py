"""Prepared transactions on the mock: lost responses, failed records, and shared clients."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.cluster.test_prepared_transactions import prepared
from tests.support.arrow import read_rows


def visible(cluster: MockCluster, topic: str) -> list[bytes]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap, isolation_level="read_committed"))
    return sorted(row["value"] for row in rows)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize(
    "fault",
    [
        Fault.disconnect("before"),
        Fault.disconnect("after"),
        Fault.error("UNKNOWN_SERVER_ERROR"),
        Fault.error("CONCURRENT_TRANSACTIONS"),
        Fault.error("NOT_COORDINATOR"),
    ],
)
def test_an_end_is_repeated_until_its_outcome_is_known(
    mock_cluster: MockCluster, topic: str, level: int, fault: Fault
) -> None:
    mock_cluster.set_transaction_version(level)
    with ottla.Client(mock_cluster.bootstrap) as client, ottla.Admin(client) as admin:
        transactions = [prepared(client, topic, b"%d" % number) for number in range(40)]
        mock_cluster.inject(fault, api="EndTxn", times=5)
        ended = admin.end_prepared_transactions(transactions, commit=True)
        assert set(ended.values()) == {None}
        assert len(ended) == 40
    assert visible(mock_cluster, topic) == sorted(b"%d" % number for number in range(40))


def test_a_failed_record_prevents_the_preparation(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce", times=1)
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        ottla.Producer(client, transactional_id="a") as producer,
    ):
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"denied")
        with pytest.raises(errors.TransactionAbortableError, match="TOPIC_AUTHORIZATION_FAILED"):
            producer.prepare_transaction()
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"next")
        assert producer.prepare_transaction() is not None
        producer.commit_transaction()
    assert visible(mock_cluster, topic) == [b"next"]


def test_a_preparation_that_timed_out_is_waited_for_again(
    mock_cluster: MockCluster, topic: str
) -> None:
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        ottla.Producer(client, transactional_id="a") as producer,
    ):
        producer.init_transactions()
        producer.begin_transaction()
        mock_cluster.inject(Fault.delay(1.0), api="Produce", times=1)
        producer.send(topic, b"slow")
        with pytest.raises(errors.TimeoutError, match="call it again"):
            producer.prepare_transaction(timeout=0.1)
        with pytest.raises(errors.StateError, match="being prepared"):
            producer.commit_transaction()
        assert producer.prepare_transaction() is not None
        producer.abort_transaction()
    assert visible(mock_cluster, topic) == []


def test_a_producer_on_a_shared_client_has_its_own_id_and_timeout(
    mock_cluster: MockCluster,
) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client, ottla.Admin(client) as admin:
        with ottla.Producer(client, transactional_id="a", transaction_timeout_ms=5000) as producer:
            producer.init_transactions()
        with ottla.Producer(client, transactional_id="b") as producer:
            producer.init_transactions()
        described = admin.describe_transactions(["a", "b"])
        assert [described[name].timeout for name in "ab"] == [5.0, 60.0]
        with pytest.raises(errors.ConfigError, match="from 1 to"):
            ottla.Producer(client, transactional_id="a", transaction_timeout_ms=0)
        with pytest.raises(errors.ConfigError, match="empty"):
            ottla.Producer(client, transactional_id="")
        with pytest.raises(errors.ConfigError, match="configure the client"):
            ottla.Producer(client, transactional_id="a", acks="1")
    with (
        ottla.Client(mock_cluster.bootstrap, acks="1") as client,
        pytest.raises(errors.ConfigError, match="acks=all"),
    ):
        ottla.Producer(client, transactional_id="a")
