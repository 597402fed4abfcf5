"""``request_statistics()``: requests by API, the slowest responses, retries by cause."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Literal

import pytest

import ottla
from ottla._core import async_client_of
from ottla.testing import Fault, MockCluster
from tests.support.loops import run
from tests.support.waiting import wait_until

TIMEOUT = 60.0


def test_a_new_client_has_sent_only_metadata_requests(client: ottla.Client) -> None:
    statistics = client.request_statistics()
    assert type(statistics) is ottla.RequestStatistics
    assert list(statistics.by_api) == ["Metadata"]
    metadata = statistics.by_api["Metadata"]
    assert type(metadata) is ottla.ApiStatistics
    # More than one if a bootstrap server was slow.
    assert metadata.total >= 1
    assert metadata.failed < metadata.total
    assert metadata.latency_avg is not None
    assert 0 < metadata.latency_avg < TIMEOUT
    assert 0 <= metadata.last_sent < TIMEOUT
    assert statistics.retries == {}
    slow = statistics.slowest[0]
    assert type(slow) is ottla.SlowRequest
    assert slow.api == "Metadata"
    assert metadata.latency_avg <= slow.latency * 1.001
    with pytest.raises(TypeError):
        statistics.by_api["Fetch"] = metadata  # type: ignore[index]
    with pytest.raises(AttributeError):
        metadata.total = 2  # type: ignore[misc]
    assert re.fullmatch(r"RequestStatistics\(apis=1, slowest=\d+, retries=0\)", repr(statistics))
    assert re.match(r"ApiStatistics\(total=\d+, failed=\d+, latency_avg=\d", repr(metadata))
    assert repr(slow).startswith('SlowRequest(api="Metadata", address="127.0.0.1:')


def test_a_retried_batch_is_counted_by_its_cause(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    mock_cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="Produce", times=2)
    producer.send(topic, b"x", partition=0).result(timeout=TIMEOUT)
    mock_cluster.inject(Fault.disconnect(), api="Produce", times=1)
    producer.send(topic, b"y", partition=0).result(timeout=TIMEOUT)
    statistics = producer.request_statistics()
    assert statistics.retries["NOT_LEADER_OR_FOLLOWER"] == 2
    assert statistics.retries["connection lost"] == 1
    produce = statistics.by_api["Produce"]
    assert (produce.total, produce.failed) == (5, 1)


def test_a_delayed_response_is_among_the_slowest(
    mock_cluster: MockCluster, client: ottla.Client, topic: str
) -> None:
    mock_cluster.inject(Fault.delay(0.5), api="ListOffsets", times=1)
    client.list_offsets({(topic, 0): "latest"})
    for _ in range(40):
        client.list_offsets({(topic, 0): "latest"})
    slowest = client.request_statistics().slowest
    assert len(slowest) == 20
    assert [slow.latency for slow in slowest] == sorted((s.latency for s in slowest), reverse=True)
    delayed = [slow for slow in slowest if slow.api == "ListOffsets" and slow.latency >= 0.5]
    assert delayed
    leader = mock_cluster.leader(topic, 0)
    assert leader is not None
    assert delayed[0].address == mock_cluster.brokers[leader]
    assert 0 <= delayed[0].age < TIMEOUT
    assert client.request_statistics().by_api["ListOffsets"].total == 41


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_cadences_of_a_consumer(
    mock_cluster: MockCluster, topic: str, protocol: Literal["classic", "consumer"]
) -> None:
    # The broker determines the heartbeats of the consumer protocol.
    config = {"heartbeat.interval.ms": 50} if protocol == "classic" else {}
    with ottla.Consumer(
        mock_cluster.bootstrap,
        config,
        topics=[topic],
        group_id="readers",
        group_protocol=protocol,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=50,
        fetch_max_wait_ms=400,
    ) as consumer:
        with ottla.Producer(mock_cluster.bootstrap) as producer:
            producer.send(topic, b"x").result(timeout=TIMEOUT)
        heartbeat = "Heartbeat" if protocol == "classic" else "ConsumerGroupHeartbeat"

        def has_sent(api: str, count: int) -> bool:
            consumer.poll(timeout=0.01)
            found = consumer.request_statistics().by_api.get(api)
            return found is not None and found.total >= count

        heartbeats = 3 if protocol == "classic" else 1
        for api, count in {"Fetch": 5, heartbeat: heartbeats, "OffsetCommit": 1}.items():
            wait_until(partial(has_sent, api, count))
        statistics = consumer.request_statistics()
        assert all(0 <= each.last_sent < TIMEOUT for each in statistics.by_api.values())
        # A long poll is part of a fetch's latency, but not slow.
        fetch = statistics.by_api["Fetch"]
        assert fetch.latency_avg is not None
        assert fetch.latency_avg > 0.05
        assert async_client_of(consumer).request_statistics().by_api["Fetch"].total >= fetch.total


def test_asyncio_handles_have_the_same_statistics(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with (
            ottla.AsyncClient(mock_cluster.bootstrap) as client,
            ottla.AsyncProducer(mock_cluster.bootstrap) as producer,
            ottla.AsyncConsumer(mock_cluster.bootstrap, group_id="a") as consumer,
            ottla.AsyncShareConsumer(mock_cluster.bootstrap, group_id="b") as share,
        ):
            await asyncio.wait_for(producer.send(topic, b"x"), TIMEOUT)
            assert producer.request_statistics().by_api["Produce"].total == 1
            for handle in (client, consumer, share):
                assert handle.request_statistics().by_api["Metadata"].total >= 1
        with pytest.raises(ottla.errors.ClosedError):
            client.request_statistics()

    run(work())
