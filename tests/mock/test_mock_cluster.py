"""MockCluster behaves as documented, and the fixture creates one for each test."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster


def test_the_fixture_is_three_brokers(mock_cluster: MockCluster) -> None:
    assert sorted(mock_cluster.brokers) == [1, 2, 3]
    assert mock_cluster.bootstrap == ",".join(mock_cluster.brokers.values())
    mock_cluster.create_topic("only-here")


def test_the_fixture_is_fresh(mock_cluster: MockCluster) -> None:
    assert mock_cluster.leader("only-here", 0) is None


def test_the_fixture_comes_with_the_package(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.pluginmanager.has_plugin("ottla")


@pytest.mark.parametrize(("brokers", "racks"), [(1, None), (5, ["x", "y"]), (2, [])])
def test_cluster_sizes(brokers: int, racks: list[str] | None) -> None:
    with MockCluster(brokers, racks=racks, default_partitions=4) as cluster:
        cluster.create_topic("t")
        with ottla.Client(cluster.bootstrap) as client:
            known = client.cluster(["t"])
            assert len(known.topics["t"].partitions) == 4
            want: Sequence[str | None] = (
                ["rack-a", "rack-b", "rack-c"] if racks is None else racks or [None]
            )
            assert [b.rack for b in known.brokers.values()] == [
                want[i % len(want)] for i in range(brokers)
            ]


@pytest.mark.parametrize("brokers", [0, 1001])
def test_invalid_cluster_sizes_raise(brokers: int) -> None:
    with pytest.raises(errors.ConfigError, match="brokers is"):
        MockCluster(brokers)


def test_topics(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic(
        "t", partitions=2, replication=1, configs={"max.message.bytes": "500"}
    )
    with ottla.Client(mock_cluster.bootstrap) as client:
        partitions = client.cluster(["t"]).topics["t"].partitions
        assert [len(p.replicas) for p in partitions.values()] == [1, 1]
        with ottla.Producer(client) as producer:
            error = producer.send("t", b"x" * 1000).exception(timeout=5)
            assert isinstance(error, errors.RecordTooLargeError)
            assert error.name == "MESSAGE_TOO_LARGE"
    with pytest.raises(errors.ConfigError, match="t"):
        mock_cluster.create_topic("t")
    mock_cluster.delete_topic("t")
    assert mock_cluster.leader("t", 0) is None
    for call in (
        lambda: mock_cluster.delete_topic("t"),
        lambda: mock_cluster.move_leader("t", 0, 1),
        lambda: mock_cluster.delete_records("t", 0, 1),
        lambda: mock_cluster.end_offset("t", 0),
        lambda: mock_cluster.create_topic("not legal/"),
    ):
        with pytest.raises(errors.ConfigError):
            call()


def test_records(mock_cluster: MockCluster, producer: ottla.Producer, single: str) -> None:
    producer.send_batch(single, ["x"] * 10).result(timeout=5)
    assert mock_cluster.end_offset(single, 0) == 10
    assert mock_cluster.delete_records(single, 0, 4) == 4
    assert mock_cluster.request_count("Produce") >= 1
    assert mock_cluster.request_count("Produce", mock_cluster.leader(single, 0)) >= 1
    assert mock_cluster.request_count("Produce", 99) == 0
    with pytest.raises(errors.ConfigError, match="not the name of an API"):
        mock_cluster.request_count("produce!")


def test_close_ends_the_cluster() -> None:
    with MockCluster(brokers=1) as cluster:
        address = cluster.brokers[1]
    cluster.close()  # a second close has no effect
    host, port = address.split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=2)
    with pytest.raises(errors.ClosedError, match="this mock cluster was closed"):
        cluster.create_topic("t")
    assert "closed" in repr(cluster)


def test_log_append_time(mock_cluster: MockCluster, producer: ottla.Producer) -> None:
    mock_cluster.create_topic("t", configs={"message.timestamp.type": "LogAppendTime"})
    append_time = producer.send("t", "v", timestamp=5).result(timeout=5).timestamp
    assert append_time > 1_600_000_000_000
    row = next(iter(ottla.scan("t", mock_cluster.bootstrap)))
    assert len(row) == 1


def test_a_fault_of_another_type_is_refused_by_name(mock_cluster: MockCluster) -> None:
    """It was an AttributeError about an attribute that the caller does not know."""
    with pytest.raises(ottla.errors.ArgumentTypeError, match=r"fault is of type str: .*Fault\."):
        mock_cluster.inject("disconnect")  # type: ignore[arg-type]
