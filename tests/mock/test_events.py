"""Events report cluster changes in order to each subscriber."""

from __future__ import annotations

import threading
import time

import pytest

import ottla
from ottla import Event, Events, errors
from ottla.testing import MockCluster

TIMEOUT = 60.0


def wait_for_event(events: Events, kind: str) -> Event:
    """Return the next event of this kind."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        event = events.next(timeout=deadline - time.monotonic())
        assert event is not None, f"no {kind} event within the timeout"
        if event.kind == kind:
            return event


def test_leader_changes_and_broker_losses() -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("orders", partitions=3)
        with ottla.Client(cluster.bootstrap, metadata_max_age_ms=200) as client:
            events = client.events()
            client.cluster(["orders"])
            appeared = wait_for_event(events, "topic_appeared")
            assert (appeared.topic, appeared.before, appeared.after) == ("orders", None, 3)
            before = cluster.leader("orders", 0)
            assert before is not None
            other = before % 3 + 1
            cluster.move_leader("orders", 0, other)
            moved = wait_for_event(events, "leader_changed")
            assert (moved.topic, moved.partition) == ("orders", 0)
            assert (moved.before, moved.after) == (before, other)
            assert "orders-0" in str(moved)
            cluster.stop_broker(other)
            lost = wait_for_event(events, "broker_lost")
            assert (lost.broker, lost.address) == (other, cluster.brokers[other])
            cluster.start_broker(other)
            assert wait_for_event(events, "broker_added").broker == other
            cluster.delete_topic("orders")
            assert wait_for_event(events, "topic_gone").topic == "orders"


def test_unused_topics_appear_and_disappear() -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("old")
        with ottla.Client(cluster.bootstrap, metadata_max_age_ms=200) as client:
            events = client.events(all_topics=True)
            cluster.create_topic("new", partitions=2)
            appeared = wait_for_event(events, "topic_appeared")
            assert (appeared.topic, appeared.after) == ("new", 2)
            cluster.move_leader("new", 0, (cluster.leader("new", 0) or 0) % 3 + 1)
            assert wait_for_event(events, "leader_changed").topic == "new"
            cluster.delete_topic("old")
            assert wait_for_event(events, "topic_gone").topic == "old"
            # Without subscribers, unused topics are no longer requested.
            del events
            assert list(client.cluster(refresh=True).topics) == []


def test_connection_events_carry_their_cause() -> None:
    with (
        MockCluster(brokers=1) as cluster,
        ottla.Client(cluster.bootstrap, connect=False) as client,
    ):
        events = client.events()
        client.cluster()
        opened = wait_for_event(events, "connection_opened")
        assert (opened.broker, opened.address) == (1, cluster.brokers[1])
        cluster.stop_broker(1)
        lost = wait_for_event(events, "connection_lost")
        assert lost.broker == 1
        assert lost.cause is not None
        assert "closed the connection" in lost.cause


def test_iterating_ends_with_the_client() -> None:
    with MockCluster(brokers=1) as cluster:
        client = ottla.Client(cluster.bootstrap)
        events = client.events()
        seen: list[str] = []
        reader = threading.Thread(target=lambda: seen.extend(event.kind for event in events))
        reader.start()
        client.cluster(refresh=True)
        client.close()
        reader.join(TIMEOUT)
        assert not reader.is_alive()
        assert list(events) == []
        with pytest.raises(errors.ClosedError):
            events.next(timeout=0)
        with pytest.raises(errors.ClosedError):
            client.events()


def test_timeout_without_events_returns_none() -> None:
    with MockCluster(brokers=1) as cluster, ottla.Client(cluster.bootstrap) as client:
        assert client.events().next(timeout=0.05) is None


def test_an_unknown_topic_is_looked_up_at_intervals_with_events_of_all_topics(
    mock_cluster: MockCluster,
) -> None:
    """Regression: each lookup asked for all topics, found no answer, and asked again at once."""
    with ottla.Client(mock_cluster.bootstrap) as client:
        with_all = client.events(all_topics=True)
        before = mock_cluster.request_count("Metadata")
        with pytest.raises(errors.UnknownTopicError, match="missing"):
            client.cluster(["missing"], timeout=20)
        assert mock_cluster.request_count("Metadata") - before < 50
        del with_all


def test_a_producer_creates_its_topic_with_events_of_all_topics(mock_cluster: MockCluster) -> None:
    """Regression: a request for all topics creates none, so the first send never ended."""
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        with_all = producer.events(all_topics=True)
        assert producer.send("created", b"value").result(timeout=20).topic == "created"
        del with_all
