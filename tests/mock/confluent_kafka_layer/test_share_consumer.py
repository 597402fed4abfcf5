"""The share consumer acknowledges what the application says, one thread at a time."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from ottla.testing import MockCluster

PATIENCE = 30.0


def _consumer(peer: Any, cluster: MockCluster, group: str, mode: str, **more: Any) -> Any:
    keys = {"bootstrap.servers": cluster.bootstrap, "group.id": group, **more}
    return peer.ShareConsumer({**keys, "share.acknowledgement.mode": mode})


def _poll(consumer: Any, count: int = 1) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline
        found += consumer.poll(0.5)
    return found


@pytest.fixture
def topic(cluster: MockCluster, name: str) -> str:
    """A topic of one partition."""
    cluster.create_topic(name, partitions=1)
    return name


def _joined(peer: Any, cluster: MockCluster, topic: str, mode: str, **more: Any) -> Any:
    """Return a member that has read what was there, since share groups begin at the end."""
    consumer = _consumer(peer, cluster, topic, mode, **more)
    consumer.subscribe([topic])
    deadline = time.monotonic() + PATIENCE
    while True:
        assert time.monotonic() < deadline
        cluster.append(topic, 0, [b"first"])
        if messages := consumer.poll(0.2):
            break
    if mode == "explicit":
        for message in messages:
            consumer.acknowledge(message)
    consumer.commit_sync(PATIENCE)
    return consumer


def test_explicit_acknowledgements(peer: Any, cluster: MockCluster, topic: str) -> None:
    kind = peer.AcknowledgeType
    consumer = _joined(peer, cluster, topic, "explicit")
    results: list[tuple[Any, Any]] = []
    consumer.set_acknowledgement_commit_callback(lambda *found: results.append(found))
    first = cluster.append(topic, 0, [b"accept", b"release", b"reject"])
    messages = _poll(consumer, 3)
    assert isinstance(consumer.subscription(), list)
    assert [message.delivery_count() for message in messages] == [1, 1, 1]
    for message, chosen in zip(messages, (kind.ACCEPT, kind.RELEASE, kind.REJECT), strict=True):
        consumer.acknowledge(message, chosen)
    assert consumer.commit_sync(PATIENCE) == {peer.TopicPartition(topic, 0): None}
    (again,) = _poll(consumer)
    assert (again.offset(), again.value(), again.delivery_count()) == (first + 1, b"release", 2)
    assert results == [
        ({peer.TopicPartition(topic, 0): {first, first + 1, first + 2}}, None),
    ]
    consumer.acknowledge_offset(topic, 0, again.offset())
    consumer.close()


def test_what_is_refused(peer: Any, cluster: MockCluster, topic: str) -> None:
    implicit = _consumer(peer, cluster, topic, "implicit")
    with pytest.raises(peer.IllegalStateException):
        implicit.poll(0)
    with pytest.raises(peer.IllegalStateException):
        implicit.acknowledge_offset(topic, 0, 0)
    with pytest.raises(ValueError, match="topic or offset"):
        implicit.acknowledge(peer.Message(partition=0, offset=0))
    for topics in ([""], ["a", "a"]):
        with pytest.raises(ValueError, match="Failed to subscribe"):
            implicit.subscribe(topics)
    implicit.close()
    with pytest.raises(peer.IllegalStateException, match="Share consumer closed"):
        implicit.poll(0)
    with pytest.raises(ValueError, match="on_commit is not supported"):
        peer.ShareConsumer({"group.id": "g", "on_commit": print})
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        peer.ShareConsumer({})


def test_messages_of_the_last_poll_must_be_acknowledged(
    peer: Any, cluster: MockCluster, topic: str
) -> None:
    consumer = _joined(peer, cluster, topic, "explicit")
    cluster.append(topic, 0, [b"v"])
    (message,) = _poll(consumer)
    with pytest.raises(peer.IllegalStateException):
        consumer.poll(0)
    consumer.acknowledge(message)
    consumer.close()


def test_only_one_thread_at_a_time(peer: Any, cluster: MockCluster, topic: str) -> None:
    consumer = _joined(peer, cluster, topic, "implicit")
    found: list[type[BaseException]] = []
    ended = threading.Event()

    def intrude() -> None:
        while not found and not ended.is_set():
            try:
                consumer.commit_async()
            except peer.ConcurrentModificationException as error:
                found.append(type(error))

    thread = threading.Thread(target=intrude)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not found and time.monotonic() < deadline:
        try:
            consumer.poll(0.05)
        except peer.ConcurrentModificationException:
            continue
    ended.set()
    thread.join()
    assert found == [peer.ConcurrentModificationException]
    consumer.close()


def test_the_callback_may_not_call_the_consumer(
    peer: Any, cluster: MockCluster, topic: str
) -> None:
    consumer = _joined(peer, cluster, topic, "explicit")
    refused: list[str] = []

    def callback(offsets: Any, error: Any) -> None:
        for call in (consumer.close, consumer.commit_async, consumer.subscription):
            try:
                call()
            except peer.IllegalStateException:
                refused.append(call.__name__)

    consumer.set_acknowledgement_commit_callback(callback)
    cluster.append(topic, 0, [b"v"])
    consumer.acknowledge(_poll(consumer)[0])
    consumer.commit_sync(PATIENCE)
    consumer.poll(0.05)
    assert refused == ["close", "commit_async", "subscription"]
    assert consumer.subscription() == [topic]
    consumer.set_acknowledgement_commit_callback(None)
    consumer.close()


def test_a_poll_that_comes_too_late_is_an_error(
    peer: Any, cluster: MockCluster, topic: str
) -> None:
    consumer = _joined(peer, cluster, topic, "implicit", **{"max.poll.interval.ms": 300})
    time.sleep(0.4)  # the application is busy
    with pytest.raises(peer.KafkaException) as late:
        consumer.poll(0)
    assert late.value.args[0] == peer.KafkaError._MAX_POLL_EXCEEDED
    cluster.append(topic, 0, [b"v"])
    assert _poll(consumer)[-1].value() == b"v"
    consumer.close()
