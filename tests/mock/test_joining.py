"""A member joins its group with its first poll, as in Java: subscribing alone does not join."""

from __future__ import annotations

import time
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT, read

ALL = [("orders", 0), ("orders", 1), ("orders", 2)]
GROUP_APIS = ["JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "ConsumerGroupHeartbeat"]


@pytest.fixture(params=["classic", "consumer"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The configuration of a member of the group `g`."""
    heartbeat = {"heartbeat_interval_ms": 100} if request.param == "classic" else {}
    return {"group_id": "g", "group_protocol": request.param, **heartbeat}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


def poll_until(condition: Any, *consumers: Any) -> None:
    """Poll the consumers until the condition holds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        for consumer in consumers:
            consumer.poll(timeout=0.02)


def group_requests(cluster: MockCluster) -> int:
    """Return the number of group requests that brokers received."""
    return sum(cluster.request_count(api) for api in GROUP_APIS)


def test_a_consumer_that_never_polls_does_not_delay_the_group(
    mock_cluster: MockCluster, topic: str, kind: Any, config: dict[str, Any]
) -> None:
    with (
        kind(mock_cluster.bootstrap, topics=[topic], **config) as idle,
        kind(mock_cluster.bootstrap, topics=[topic], **config) as busy,
    ):
        assert idle.subscription() == [topic]
        poll_until(lambda: busy.assignment() == ALL, busy)
        assert len(mock_cluster.members("g")) == 1
        # A poll with a zero timeout counts.
        assert idle.poll(timeout=0) == []
        deadline = time.monotonic() + TIMEOUT
        while len(mock_cluster.members("g")) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        poll_until(lambda: idle.assignment() and len(busy.assignment()) < 3, idle, busy)


@pytest.mark.parametrize("how", ["poll", "poll_arrow", "iterate"])
def test_every_kind_of_poll_joins(
    mock_cluster: MockCluster, topic: str, kind: Any, config: dict[str, Any], how: str
) -> None:
    mock_cluster.append(topic, 0, [b"v"])
    options = {"topics": [topic], "auto_offset_reset": "earliest", **config}
    with kind(mock_cluster.bootstrap, **options) as consumer:
        consumer.wakeup()
        with pytest.raises(errors.WakeupError):
            consumer.poll(timeout=0)
        assert group_requests(mock_cluster) == 0, (
            "the consumer contacted the group before its first poll"
        )
        if how == "poll":
            assert [record.value for record in read(consumer, 1)] == [b"v"]
        elif how == "poll_arrow":
            deadline = time.monotonic() + TIMEOUT
            while consumer.poll_arrow(timeout=0.5) is None:
                assert time.monotonic() < deadline
        else:
            assert next(consumer).value == b"v"
        assert len(mock_cluster.members("g")) == 1


def test_closing_before_the_first_poll_never_contacts_the_group(
    mock_cluster: MockCluster, topic: str, kind: Any, config: dict[str, Any]
) -> None:
    with kind(mock_cluster.bootstrap, topics=[topic], **config):
        pass
    with kind(mock_cluster.bootstrap, topics=[topic], **config) as consumer:
        consumer.unsubscribe()
        assert consumer.subscription() == []
        with pytest.raises(errors.StateError, match="nothing to poll"):
            consumer.poll(timeout=0)
        consumer.assign([(topic, 0)])
    assert group_requests(mock_cluster) == 0


def test_calls_before_the_first_poll(
    mock_cluster: MockCluster, topic: str, kind: Any, config: dict[str, Any]
) -> None:
    mock_cluster.commit("g", topic, 0, 7)
    options = {"topics": [topic], "enable_auto_commit": False, **config}
    with kind(mock_cluster.bootstrap, **options) as consumer:
        metadata = consumer.group_metadata()
        assert (metadata.group_id, metadata.generation) == ("g", -1)
        # KIP-848 members choose their ids themselves.
        assert bool(metadata.member_id) == (config.get("group_protocol") == "consumer")
        assert consumer.assignment() == []
        consumer.commit()
        with pytest.raises(errors.KafkaError, match="poll to join") as raised:
            consumer.commit({(topic, 0): 9})
        assert raised.value.name == "UNKNOWN_MEMBER_ID"
        with pytest.raises(errors.StateError, match="not assigned"):
            consumer.position(topic, 0)
        assert consumer.committed((topic, 0)) == {(topic, 0): ottla.OffsetAndMetadata(7)}
        assert consumer.committed() == {}
        assert group_requests(mock_cluster) == 0
        assert mock_cluster.committed("g") == {(topic, 0): 7}
        poll_until(lambda: consumer.assignment() == ALL, consumer)
        consumer.commit({(topic, 0): 9})
    assert mock_cluster.committed("g")[topic, 0] == 9
