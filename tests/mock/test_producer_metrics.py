"""Producer.metrics() and topic_metrics(): Java's names and their values."""

from __future__ import annotations

import asyncio
import math
from typing import get_type_hints

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster


def test_metric_names_match_the_types(producer: ottla.Producer, topic: str) -> None:
    producer.send(topic, b"v").result(timeout=30)
    names = set(producer.metrics())
    assert names == set(get_type_hints(ottla.ProducerMetrics))
    assert names > set(get_type_hints(ottla.Metrics))
    [of_topic] = producer.topic_metrics().values()
    assert set(of_topic) == set(get_type_hints(ottla.TopicMetrics))


def test_records_batches_and_requests_are_counted(mock_cluster: MockCluster) -> None:
    for name in ("a", "b"):
        mock_cluster.create_topic(name, partitions=1)
    with ottla.Producer(
        mock_cluster.bootstrap,
        compression_type="gzip",
        linger_ms=60_000,
        buffer_memory=1_000_000,
        batch_size=100_000,
    ) as producer:
        nothing = producer.metrics()
        assert (nothing["record-send-total"], nothing["buffer-available-bytes"]) == (0, 1_000_000)
        assert math.isnan(nothing["batch-size-avg"])
        for number in range(30):
            producer.send("a" if number % 3 else "b", b"x" * 1000)
        lingering = producer.metrics()
        assert lingering["record-send-total"] == 0
        assert lingering["buffer-total-bytes"] == 1_000_000
        assert 960_000 < lingering["buffer-available-bytes"] < 970_000
        producer.flush()
        metrics = producer.metrics()
        topics = producer.topic_metrics()
    assert metrics["record-send-total"] == 30
    assert metrics["record-send-rate"] > 0
    assert metrics["record-error-total"] == metrics["record-retry-total"] == 0
    # Two batches of twenty and ten records: one request if one broker leads both.
    assert metrics["records-per-request-avg"] in (15, 30)
    assert metrics["batch-size-avg"] < metrics["batch-size-max"] < 1000
    assert 0 < metrics["compression-rate-avg"] < 0.1
    assert 1000 < metrics["record-size-max"] < 1050
    assert metrics["record-queue-time-max"] > 0
    assert 0 < metrics["request-latency-avg"] <= metrics["request-latency-max"]
    assert metrics["requests-in-flight"] == metrics["waiting-threads"] == 0
    assert metrics["buffer-available-bytes"] == 1_000_000
    assert metrics["flush-time-ns-total"] > 0
    assert metrics["metadata-wait-time-ns-total"] > 0
    assert {name: of["record-send-total"] for name, of in topics.items()} == {"a": 20, "b": 10}
    assert sum(of["byte-total"] for of in topics.values()) == 2 * metrics["batch-size-avg"]


def test_retries_and_failures_are_counted_once_a_record(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send(single, b"v").result(timeout=30)
    mock_cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="Produce", times=2)
    producer.send(single, b"v").result(timeout=20)
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
    assert producer.send(single, b"v").exception(timeout=20)
    with pytest.raises(errors.UnknownTopicError):
        producer.send(single, b"v", partition=7)
    metrics = producer.metrics()
    [of_topic] = producer.topic_metrics().values()
    for counted in (metrics, of_topic):
        assert counted["record-retry-total"] == 2
        assert counted["record-error-total"] == 2
        assert counted["record-send-total"] == 5


def test_an_expired_record_counts_as_one_failure(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(
        mock_cluster.bootstrap, linger_ms=0, delivery_timeout_ms=3000, request_timeout_ms=2500
    ) as producer:
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.silence(), api="Produce")
        sent = producer.send_batch(single, ["a", "b", "c"])
        assert [count for _, count, _ in sent.errors(timeout=20)] == [3]
        mock_cluster.clear_faults()
        producer.flush()
        assert producer.metrics()["record-error-total"] == 3


def test_waits_for_buffer_space_are_measured(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Client(
        mock_cluster.bootstrap, linger_ms=0, buffer_memory=2000, max_block_ms=300
    ) as client:
        # Look up the topic first, or the lookup would use up the timeout.
        client.cluster([single])
        producer = ottla.Producer(client)
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.silence(), api="Produce")
        producer.send(single, b"x" * 1500)
        with pytest.raises(errors.TimeoutError):
            producer.send(single, b"x" * 1500)
        metrics = producer.metrics()
        assert metrics["buffer-exhausted-total"] == 1
        assert metrics["bufferpool-wait-time-ns-total"] > 250e6
        assert 0 < metrics["bufferpool-wait-ratio"] < 1
        assert metrics["buffer-available-bytes"] < 1000
        mock_cluster.clear_faults()
        with pytest.raises(errors.TimeoutError):
            producer.close(timeout=0)


def test_a_batch_that_is_split_is_counted(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send(single, b"v").result(timeout=30)
    mock_cluster.inject(Fault.error("MESSAGE_TOO_LARGE"), api="Produce", times=1)
    producer.send_batch(single, ["x"] * 4).result(timeout=20)
    metrics = producer.metrics()
    assert metrics["batch-split-total"] >= 1
    assert metrics["record-error-total"] == 0


def test_with_asyncio(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(mock_cluster.bootstrap) as producer:
            await asyncio.gather(*(producer.send(topic, b"v") for _ in range(10)))
            assert producer.metrics()["record-send-total"] == 10
            assert producer.topic_metrics()[topic]["record-send-total"] == 10

    asyncio.run(work())
