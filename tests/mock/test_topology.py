"""Python's view of snapshots, connections, metrics and connect errors."""

from __future__ import annotations

import math
import re
import socket
import time
from typing import get_type_hints

import pytest

import ottla
from ottla import errors
from ottla.errors import Attempt
from ottla.testing import MockCluster

TIMEOUT = 60.0


def closed_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_connect_errors_list_every_address_tried() -> None:
    servers = [closed_port(), "nowhere.invalid:9092"]
    with pytest.raises(errors.BootstrapError) as raised:
        ottla.Client(servers, timeout=30)
    tried = {attempt.address: attempt for attempt in raised.value.attempts}
    assert set(tried) == set(servers)
    refused, unknown = (tried[server] for server in servers)
    assert (refused.phase, refused.error) == ("TCP", errors.ConnectionError)
    assert "refused" in refused.message
    assert (unknown.phase, unknown.error) == ("DNS", errors.ConnectionError)
    assert isinstance(refused, Attempt)
    with pytest.raises(errors.ConfigError) as other:
        ottla.Client("no-port")
    assert other.value.attempts == []


def test_a_client_that_defers_connecting_connects_on_the_first_call() -> None:
    with (
        MockCluster(brokers=2) as cluster,
        ottla.Client(cluster.bootstrap, connect=False) as client,
    ):
        assert client.connections() == []
        assert math.isnan(client.metrics()["metadata-age"])
        assert client.cluster().cluster_id is not None
    with ottla.Client(closed_port(), connect=False) as client:
        with pytest.raises(errors.TimeoutError) as raised:
            client.cluster(timeout=3)
        assert [attempt.phase for attempt in raised.value.attempts] == ["TCP"]


def test_all_topics_does_not_track_unused_topics() -> None:
    with MockCluster(brokers=3) as cluster:
        for name in ("a", "b"):
            cluster.create_topic(name, partitions=2)
        with ottla.Client(cluster.bootstrap) as client:
            assert list(client.cluster(["a"]).topics) == ["a"]
            assert list(client.cluster(all_topics=True).topics) == ["a", "b"]
            assert list(client.cluster(refresh=True).topics) == ["a"]


def test_events_of_all_topics_include_new_topics() -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("old")
        with ottla.Client(cluster.bootstrap) as client:
            events = client.events(all_topics=True)
            assert list(client.cluster().topics) == ["old"]
            cluster.create_topic("new", partitions=2)
            cluster.delete_topic("old")
            client.cluster(refresh=True)
            seen = []
            while (event := events.next(timeout=0.5)) is not None:
                seen.append((event.kind, event.topic))
            seen = [(kind, topic) for kind, topic in seen if topic is not None]
            assert seen == [("topic_appeared", "new"), ("topic_gone", "old")]


def test_connections_report_role_round_trip_and_phase() -> None:
    with MockCluster(brokers=1) as cluster, ottla.Client(cluster.bootstrap) as client:
        (connection,) = client.connections()
        assert (connection.role, connection.state, connection.phase) == ("data", "connected", None)
        assert connection.round_trip_time is not None
        assert 0 < connection.round_trip_time < 5
        assert connection.throttled_for is None
        assert re.search(r"role=.data.", repr(connection))


def test_metrics_match_their_type_and_count() -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("t", partitions=3)
        with ottla.Client(cluster.bootstrap) as client:
            before = client.metrics()
            assert set(before) == set(get_type_hints(ottla.Metrics))
            with ottla.Producer(client) as producer:
                for partition in range(3):
                    producer.send("t", "x", partition=partition).result(timeout=TIMEOUT)
            after = client.metrics()
            assert after["request-total"] >= before["request-total"] + 3
            assert after["outgoing-byte-total"] > before["outgoing-byte-total"]
            assert after["connection-count"] == 3
            assert after["metadata-age"] < TIMEOUT
            cluster.stop_broker(2)
            deadline = time.monotonic() + TIMEOUT
            while client.metrics()["connection-close-total"] < 1 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert client.metrics()["connection-close-total"] >= 1
