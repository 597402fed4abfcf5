"""Lifecycle of a consumer without a group: shared clients, close, drop, wakeup and threads."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT, read


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def fill(cluster: MockCluster, topic: str, count: int) -> None:
    """Write `count` records to partition 0."""
    with ottla.Producer(cluster.bootstrap) as producer:
        for offset in range(count):
            producer.send(topic, str(offset), partition=0)


def test_a_client_can_be_shared(kind: Any, mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, topic, 10)
    with ottla.Client(mock_cluster.bootstrap, auto_offset_reset="earliest") as client:
        with kind(client) as consumer:
            consumer.assign([(topic, 0)])
            assert len(read(consumer, 10)) == 10
        assert client.topic_names() == [topic]
        with pytest.raises(errors.ConfigError, match="takes its configuration from it"):
            kind(client, group_id="g")


def test_closed_consumer_raises(kind: Any, mock_cluster: MockCluster, topic: str) -> None:
    consumer = kind(mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest")
    consumer.assign([(topic, 0)])
    assert not consumer.closed
    if kind is ottla.Consumer:
        consumer.close()
        consumer.close(timeout=0)
        for call in (
            consumer.poll,
            consumer.poll_arrow,
            consumer.__next__,
            consumer.commit,
            consumer.committed,
            consumer.end_offsets,
            lambda: consumer.position(topic, 0),
            lambda: consumer.seek(topic, 0, 1),
            lambda: consumer.assign([(topic, 0)]),
            lambda: consumer.subscribe([topic]),
            lambda: consumer.pause((topic, 0)),
        ):
            with pytest.raises(errors.ClosedError):
                call()
        assert repr(consumer).endswith(", closed)")
    else:
        consumer.close()
    assert consumer.consumer.closed if kind is not ottla.Consumer else consumer.closed
    deadline = time.monotonic() + TIMEOUT
    while sum(mock_cluster.connections(broker) for broker in (1, 2, 3)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_dropping_without_close_does_not_leak(mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, topic, 100)
    before = threading.active_count()
    for _ in range(20):
        consumer = ottla.Consumer(
            mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest"
        )
        consumer.assign([(topic, 0)])
        assert next(consumer).offset == 0
        del consumer
    gc.collect()
    assert threading.active_count() == before
    deadline = time.monotonic() + TIMEOUT
    while sum(mock_cluster.connections(broker) for broker in (1, 2, 3)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start_poll(consumer: Any, raised_errors: list[BaseException]) -> threading.Thread:
    """Start a thread with a long poll; append the error that it raises to `raised_errors`."""

    def work() -> None:
        try:
            consumer.poll(timeout=TIMEOUT)
        except errors.KafkaError as error:
            raised_errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def poll_until_busy(consumer: Any) -> errors.StateError:
    """Poll until it raises because another thread is polling."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        try:
            consumer.poll(timeout=0)
        except errors.StateError as error:
            return error
    raise AssertionError("poll did not raise StateError")


def test_only_one_thread_polls_and_others_can_wake_it(
    mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Consumer(mock_cluster.bootstrap) as consumer:
        consumer.assign([(topic, 0)])
        raised_errors: list[BaseException] = []
        thread = start_poll(consumer, raised_errors)
        assert "another thread is polling" in str(poll_until_busy(consumer))
        with pytest.raises(errors.StateError):
            next(consumer)
        # Other methods may be called during the poll.
        assert consumer.position(topic, 0) == 0
        consumer.wakeup()
        thread.join(TIMEOUT)
        assert [type(error) for error in raised_errors] == [errors.WakeupError]
        assert consumer.poll(timeout=0) == []
        consumer.wakeup()
        with pytest.raises(errors.WakeupError):
            consumer.poll(timeout=0)


def test_close_ends_a_poll_in_another_thread(mock_cluster: MockCluster, topic: str) -> None:
    consumer = ottla.Consumer(mock_cluster.bootstrap)
    consumer.assign([(topic, 0)])
    raised_errors: list[BaseException] = []
    thread = start_poll(consumer, raised_errors)
    poll_until_busy(consumer)
    consumer.close()
    thread.join(TIMEOUT)
    assert [type(error) for error in raised_errors] == [errors.ClosedError]


@pytest.mark.parametrize("callback", ["rebalance", "commit"])
def test_close_reports_a_callback_that_overruns(
    kind: Any, callback: str, mock_cluster: MockCluster, topic: str
) -> None:
    """Both consumers leave their group and report the callback; a callback is not interrupted."""
    fill(mock_cluster, topic, 10)
    ended = []

    def slow(*_: object) -> None:
        time.sleep(2)
        ended.append(callback)

    consumer = kind(mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest")
    consumer.subscribe([topic], on_revoked=slow if callback == "rebalance" else None)
    read(consumer, 10)
    if callback == "commit":
        consumer.commit_async(on_commit=slow)
    with pytest.raises(
        errors.TimeoutError, match=f"a callback of .*{callback} did not end in time"
    ):
        consumer.close(timeout=1)
    assert ended == [callback]
    assert consumer.closed
