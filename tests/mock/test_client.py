"""Client: metadata snapshots, leaders, offsets, connections and close."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster


def test_snapshot_has_brokers_and_racks(client: ottla.Client, mock_cluster: MockCluster) -> None:
    cluster = client.cluster()
    assert cluster.cluster_id
    assert {i: b.rack for i, b in cluster.brokers.items()} == {
        1: "rack-a",
        2: "rack-b",
        3: "rack-c",
    }
    assert {i: f"{b.host}:{b.port}" for i, b in cluster.brokers.items()} == mock_cluster.brokers
    assert all(broker.id == i for i, broker in cluster.brokers.items())


def test_snapshot_has_leaders(client: ottla.Client, mock_cluster: MockCluster, topic: str) -> None:
    found = client.cluster([topic]).topics[topic]
    assert (found.name, found.internal, found.error) == (topic, False, None)
    assert found.id
    assert sorted(found.partitions) == [0, 1, 2]
    assert {p.leader for p in found.partitions.values()} == {1, 2, 3}
    for index, partition in found.partitions.items():
        assert partition.index == index
        assert partition.leader == mock_cluster.leader(topic, index)
        assert partition.leader == client.leader(topic, index)
        assert sorted(partition.replicas) == sorted(partition.isr) == [1, 2, 3]
        assert partition.offline_replicas == []
        assert partition.error is None
        assert partition.leader_epoch >= 0


def test_snapshot_is_immutable(client: ottla.Client, mock_cluster: MockCluster, topic: str) -> None:
    before = client.cluster([topic])
    old = before.topics[topic].partitions[0].leader
    new = old % 3 + 1 if old else 1
    mock_cluster.move_leader(topic, 0, new)
    after = client.cluster([topic], refresh=True)
    assert before.topics[topic].partitions[0].leader == old
    assert after.topics[topic].partitions[0].leader == new
    assert after.generation > before.generation
    assert client.leader(topic, 0) == new


def test_leader_of_an_unknown_partition_is_none(client: ottla.Client, topic: str) -> None:
    client.cluster([topic])
    assert client.leader(topic, 99) is None
    assert client.leader("nowhere", 0) is None


@pytest.mark.deep
def test_leader_takes_less_than_a_microsecond(client: ottla.Client, topic: str) -> None:
    client.cluster([topic])
    best = min(timeit.repeat(lambda: client.leader(topic, 1), number=1_000, repeat=300)) / 1_000
    # Take the best of many short runs: a loaded machine interrupts most of them. The bound scales
    # with a dict lookup, which takes more than 50 ns on a slow machine.
    known = {1: 2}
    usual = min(timeit.repeat(lambda: known.get(1), number=1_000, repeat=300)) / 1_000
    assert best < max(1e-6, 20 * usual), f"{best * 1e9:.0f} ns, and {usual * 1e9:.0f} ns for a dict"


def test_cluster_requests_only_uncached_topics(
    client: ottla.Client, mock_cluster: MockCluster, topic: str
) -> None:
    client.cluster([topic])
    before = mock_cluster.request_count("Metadata")
    client.cluster([topic])
    client.cluster()
    assert mock_cluster.request_count("Metadata") == before
    client.cluster(refresh=True)
    assert mock_cluster.request_count("Metadata") > before


def test_topics_are_listed(client: ottla.Client, mock_cluster: MockCluster) -> None:
    assert client.topic_names() == []
    for name in ("b", "a", "c"):
        mock_cluster.create_topic(name)
    assert client.topic_names() == ["a", "b", "c"]
    mock_cluster.delete_topic("b")
    assert client.topic_names(timeout=30) == ["a", "c"]


def test_lookups_do_not_create_topics(client: ottla.Client) -> None:
    with pytest.raises(errors.UnknownTopicError) as raised:
        client.cluster(["never-made"], timeout=3)
    assert raised.value.context == {"topic": "never-made"}
    assert raised.value.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert raised.value.code == 3
    assert client.topic_names() == []


def test_offsets_by_every_spec(client: ottla.Client, mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Producer(client) as producer:
        for second in range(10):
            producer.send(topic, "x", partition=0, timestamp=1000 * second).result(timeout=30)
        producer.send(topic, "late", partition=1, timestamp=77_000).result(timeout=30)
    mock_cluster.delete_records(topic, 0, 3)

    def of(spec: str | int) -> int | None:
        return client.list_offsets({(topic, 0): spec}, timeout=30)[topic, 0].offset

    assert (of("earliest"), of("latest"), of("max_timestamp")) == (3, 10, 9)
    assert (of(0), of(5000), of(5001), of(9000), of(9001)) == (3, 5, 6, 9, None)
    found = client.list_offsets(
        {(topic, 0): 4500, (topic, 1): "max_timestamp", (topic, 2): "latest"}
    )
    assert found[topic, 0] == client.list_offsets({(topic, 0): 4500})[topic, 0]
    assert (found[topic, 0].offset, found[topic, 0].timestamp) == (5, 5000)
    assert (found[topic, 1].offset, found[topic, 1].timestamp) == (0, 77_000)
    assert (found[topic, 2].offset, found[topic, 2].timestamp) == (0, None)
    assert client.list_offsets({(topic, 0): "latest"}, isolation_level="read_committed")
    assert client.list_offsets({}) == {}


@pytest.mark.parametrize("spec", ["first", -5, 1.5, None])
def test_invalid_offset_specs_raise(client: ottla.Client, topic: str, spec: Any) -> None:
    with pytest.raises(errors.ConfigError, match="expected 'earliest', 'latest'"):
        client.list_offsets({(topic, 0): spec})


def test_invalid_isolation_level_raises(client: ottla.Client, topic: str) -> None:
    with pytest.raises(errors.ConfigError, match="read_uncommitted or read_committed"):
        client.list_offsets({(topic, 0): "latest"}, isolation_level="dirty")


def test_offsets_of_a_missing_partition(client: ottla.Client, topic: str) -> None:
    with pytest.raises(errors.UnknownTopicError) as raised:
        client.list_offsets({(topic, 9): "latest"}, timeout=3)
    assert raised.value.context["partition"] == 9


def test_connections_are_listed(
    client: ottla.Client, mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(client) as producer:
        for partition in range(3):
            producer.send(topic, "x", partition=partition).result(timeout=30)
    states = client.connections()
    assert [state.broker for state in states] == [1, 2, 3]
    assert {state.address for state in states} == set(mock_cluster.brokers.values())
    assert all(s.state == "connected" and s.in_flight == 0 and s.last_error is None for s in states)
    mock_cluster.stop_broker(2)
    # The connection is first listed as lost, with its cause; the next metadata removes it.
    deadline = time.monotonic() + 60
    while lost := [state for state in client.connections() if state.broker == 2]:
        if lost[0].state == "disconnected":
            break
        assert time.monotonic() < deadline
        client.cluster(refresh=True)
    assert all(state.state == "disconnected" and state.last_error for state in lost)
    assert {s.broker for s in client.connections() if s.state == "connected"} <= {1, 3}


def test_one_connection_a_broker(mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client, ottla.Producer(client) as producer:
        for _ in range(5):
            producer.send_batch(topic, ["x"] * 30).result(timeout=30)
            assert len(list(ottla.scan(topic, client))) > 0
        assert all(mock_cluster.connections(broker) <= 1 for broker in (1, 2, 3))


def test_connect_false_waits_for_the_first_call(mock_cluster: MockCluster) -> None:
    with ottla.Client(mock_cluster.bootstrap, connect=False) as client:
        assert client.connections() == []
        assert sum(mock_cluster.connections(broker) for broker in (1, 2, 3)) == 0
        assert client.leader("x", 0) is None
        assert sorted(client.cluster().brokers) == [1, 2, 3]


def test_bootstrap_accepts_strings_and_lists(mock_cluster: MockCluster) -> None:
    addresses = list(mock_cluster.brokers.values())
    for bootstrap in (
        mock_cluster.bootstrap,
        addresses,
        f" {addresses[0]} , {addresses[1]}",
        f"PLAINTEXT://{addresses[0]}",
        ["127.0.0.1:1", addresses[2]],
    ):
        with ottla.Client(bootstrap) as client:
            assert sorted(client.cluster().brokers) == [1, 2, 3]
    with ottla.Client(config={"bootstrap.servers": mock_cluster.bootstrap}) as client:
        assert client.topic_names() == []
    with ottla.Client(bootstrap_servers=mock_cluster.bootstrap) as client:
        assert client.topic_names() == []


CALLS: dict[str, Callable[[ottla.Client], object]] = {
    "cluster": lambda c: c.cluster(),
    "refresh": lambda c: c.cluster(refresh=True),
    "leader": lambda c: c.leader("orders", 0),
    "connections": lambda c: c.connections(),
    "list_topics": lambda c: c.topic_names(),
    "list_offsets": lambda c: c.list_offsets({("orders", 0): "latest"}),
    "scan": lambda c: c.scan([("orders", 0, 0, 1)]),
    "ottla.scan": lambda c: ottla.scan("orders", c),
    "Producer": lambda c: ottla.Producer(c),
}


@pytest.mark.parametrize("call", CALLS)
def test_closed_client_raises(mock_cluster: MockCluster, topic: str, call: str) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        client.cluster([topic])
    client.close()  # a second close has no effect
    with pytest.raises(errors.ClosedError, match="closed"):
        CALLS[call](client)
    assert "closed" in repr(client)


def test_close_ends_the_connections(mock_cluster: MockCluster) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        client.topic_names()
        assert sum(mock_cluster.connections(broker) for broker in (1, 2, 3)) >= 1
    deadline = time.monotonic() + 60
    while sum(mock_cluster.connections(broker) for broker in (1, 2, 3)):
        assert time.monotonic() < deadline, "connections are open after close"
        time.sleep(0.01)


def test_timeout_is_in_seconds_and_checked(client: ottla.Client) -> None:
    for wrong in (-1, float("nan")):
        with pytest.raises(errors.ConfigError, match="timeout"):
            client.topic_names(timeout=wrong)
    for long in (1e9, 1e19, 1e300, float("inf")):
        assert client.topic_names(timeout=long) == []
