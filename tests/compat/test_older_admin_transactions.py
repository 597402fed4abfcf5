"""Admin's calls for transactions on Kafka 4.3, 3.9 and 2.8, and what needs them."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from tests.cluster import test_admin_transactions as transactions
from tests.cluster import test_spark_exactly_once as exactly_once
from tests.cluster.conftest import Brokers
from tests.spark.exactly_once import Query

pytestmark = pytest.mark.cluster

admin = transactions.admin
test_a_decided_batch_is_completed = exactly_once.test_a_decided_batch_is_completed
test_a_zombie_driver_commits_nothing = exactly_once.test_a_zombie_driver_commits_nothing


@pytest.fixture
def query(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> Query:
    # Before Kafka 3.0, what is left open ends by its timeout alone.
    return Query(brokers, monkeypatch, kafka__transaction__timeout__ms="10000")


SINCE_KAFKA_3 = [
    transactions.test_an_open_transaction_is_listed_described_and_fenced,
    transactions.test_a_hanging_transaction_is_found_and_aborted,
    transactions.test_what_is_not_there_is_a_typed_error,
    transactions.test_filters,
]


def test_transactions_are_listed_since_kafka_3(brokers: Brokers, admin: ottla.Admin) -> None:
    if brokers.release != "kafka-2.8":
        for scenario in SINCE_KAFKA_3:
            scenario(brokers, admin)
        return
    topic, name = brokers.create_topic(partitions=3), transactions.new_id()
    producer = transactions.open_transaction(brokers, topic, name)
    # Each says which broker lacks which API.
    with pytest.raises(errors.BrokerError, match=r"ListTransactions.*broker"):
        admin.list_transactions()
    with pytest.raises(errors.BrokerError, match=r"DescribeTransactions.*broker"):
        admin.describe_transactions([name])
    assert name in admin.fence_producers([name])
    with pytest.raises(errors.FencedError):
        producer.commit_transaction()
    producer.close()
    assert transactions.committed(brokers, topic) == []
