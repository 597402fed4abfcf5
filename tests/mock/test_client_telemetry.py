"""Client telemetry (KIP-714): the ids, the pushes, and what prevents them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

import ottla
from ottla import AsyncClient, AsyncConsumer, AsyncProducer, errors
from ottla.testing import MockCluster, PushedMetrics
from tests.support.loops import run

TIMEOUT = 60.0
SENT = "org.apache.kafka.producer.record.send.total"


@pytest.fixture
def telemetry() -> Iterator[MockCluster]:
    """A cluster that requests all metrics ten times a second."""
    with MockCluster(1, client_telemetry=True) as cluster:
        cluster.create_topic("t", partitions=1)
        cluster.subscribe_to_metrics("all", {"metrics": "*", "interval.ms": "100"})
        yield cluster


def pushes(cluster: MockCluster, instance: str, name: str = "") -> list[PushedMetrics]:
    """Return the pushes of an instance once one of them has a metric."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        found = [push for push in cluster.pushed_metrics() if push.client_instance_id == instance]
        if any(metric.name.startswith(name) for push in found for metric in push.metrics):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def total(found: list[PushedMetrics], name: str) -> float:
    """Return the sum of a metric's deltas."""
    return sum(metric.value for push in found for metric in push.metrics if metric.name == name)


def test_the_deltas_of_a_producer_sum_to_its_totals(telemetry: MockCluster) -> None:
    with ottla.Producer(telemetry.bootstrap, client_id="mine", client_rack="r") as producer:
        instance = producer.client_instance_id()
        assert len(instance) == 22
        assert producer.client_instance_id(timeout=5) == instance
        for _ in range(7):
            producer.send("t", b"v").result(timeout=TIMEOUT)
            pushes(telemetry, instance, SENT)
    found = pushes(telemetry, instance)
    assert total(found, SENT) == 7
    assert [push.terminating for push in found] == [False] * (len(found) - 1) + [True]
    assert {push.client_id for push in found} == {"mine"}
    assert {push.compression for push in found} == {"zstd"}
    assert found[0].attributes == {"client_rack": "r"}
    latencies = [m for m in found[-1].metrics if m.name.endswith("node.request.latency.avg")]
    assert [metric.attributes for metric in latencies] == [{"node_id": "node-1"}]


def test_a_consumer_pushes_its_coordinator_fetches_and_lag(telemetry: MockCluster) -> None:
    with ottla.Producer(telemetry.bootstrap, enable_metrics_push=False) as producer:
        for _ in range(5):
            producer.send("t", b"v").result(timeout=TIMEOUT)
    with ottla.Consumer(
        telemetry.bootstrap, group_id="g", auto_offset_reset="earliest", topics=["t"]
    ) as consumer:
        instance = consumer.client_instance_id()
        records = consumer.poll(timeout=TIMEOUT, max_records=2)
        records += consumer.poll(timeout=TIMEOUT, max_records=1)
        consumer.commit()
        found = pushes(
            telemetry, instance, "org.apache.kafka.consumer.coordinator.commit.latency.max"
        )
        member = consumer.group_metadata().member_id
    last = pushes(telemetry, instance)[-1]
    assert last.terminating
    assert last.attributes["group_id"] == "g"
    assert last.attributes.get("group_member_id", member) == member
    values = {metric.name: metric.value for metric in found[-1].metrics}
    prefix = "org.apache.kafka.consumer."
    assert values[f"{prefix}coordinator.assigned.partitions"] == 1
    assert values[f"{prefix}fetch.manager.records.lag.max"] == 5 - len(records)
    assert values[f"{prefix}fetch.manager.fetch.latency.avg"] > 0
    assert f"{prefix}connection.creation.rate" in values
    assert 0 <= values[f"{prefix}poll.idle.ratio.avg"] <= 1


def test_a_subscription_selects_clients_and_metrics() -> None:
    with MockCluster(1, client_telemetry=True) as cluster:
        configs = {"metrics": SENT, "interval.ms": "100", "match": "client_id=yes.*"}
        cluster.subscribe_to_metrics("some", configs)
        with (
            ottla.Producer(cluster.bootstrap, client_id="no") as other,
            ottla.Producer(cluster.bootstrap, client_id="yes-1") as selected,
        ):
            assert other.client_instance_id() != selected.client_instance_id()
            found = pushes(cluster, selected.client_instance_id())
        assert {metric.name for push in found for metric in push.metrics} == {SENT}
        assert {push.client_id for push in cluster.pushed_metrics()} == {"yes-1"}


def test_a_client_pushes_once_its_id_was_requested(telemetry: MockCluster) -> None:
    with ottla.Client(telemetry.bootstrap) as client:
        instance = client.client_instance_id()
        pushes(telemetry, instance, "org.apache.kafka.admin.client.connection.creation.total")
    assert pushes(telemetry, instance)[-1].terminating


def test_the_asyncio_twins_have_ids(telemetry: MockCluster) -> None:
    async def ids() -> list[str]:
        async with (
            AsyncClient(telemetry.bootstrap) as client,
            AsyncProducer(telemetry.bootstrap) as producer,
            AsyncConsumer(telemetry.bootstrap, group_id="g", topics=["t"]) as consumer,
        ):
            twins = (client, producer, consumer)
            return list(await asyncio.gather(*(each.client_instance_id() for each in twins)))

    instances = run(ids())
    assert len(set(instances)) == 3
    assert all(pushes(telemetry, instance)[-1].terminating for instance in instances)


def test_telemetry_that_is_off_has_no_id(telemetry: MockCluster) -> None:
    with (
        ottla.Producer(telemetry.bootstrap, enable_metrics_push=False) as producer,
        pytest.raises(errors.ConfigError, match=r"enable\.metrics\.push=true"),
    ):
        producer.client_instance_id()
    assert telemetry.pushed_metrics() == []


def test_brokers_without_a_receiver_have_no_ids(mock_cluster: MockCluster) -> None:
    with (
        ottla.Client(mock_cluster.bootstrap) as client,
        pytest.raises(errors.BrokerError, match=r"metric\.reporters"),
    ):
        client.client_instance_id()


def test_an_invalid_subscription_is_an_error(telemetry: MockCluster) -> None:
    with pytest.raises(errors.ConfigError, match="interval must be between 100 and 3600000"):
        telemetry.subscribe_to_metrics("bad", {"interval.ms": "1"})
