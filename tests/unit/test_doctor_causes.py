"""Verdicts about set-ups that other causes resemble: each test says the true one.

Set-ups that need brokers are in tests/cluster/test_doctor_states.py and tests/network.
"""

from __future__ import annotations

import dataclasses

import pytest

from ottla.doctor.attempts import merge
from ottla.doctor.cluster_facts import Quorum, Topics, Voter
from ottla.doctor.connection_facts import Address, Endpoint
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding
from ottla.doctor.responder import protocol_of
from ottla.doctor.state_facts import ClusterState, ReplicaState, Responder, Throttle
from ottla.doctor.verdict import judge
from tests.unit.test_doctor_verdict import endpoint, errors, facts, step

LOST = step("LargeRequest", "large_requests_lost")


def found(seen: Facts, code: str) -> Finding:
    [finding] = [finding for finding in judge(seen) if finding.code == code]
    return finding


def late(broker: Endpoint, *more: object, attempts: int = 1) -> Endpoint:
    """The endpoint of a broker that does not respond to the large request."""
    [address] = broker.addresses
    lost = dataclasses.replace(LOST, attempts=attempts)
    steps = (*address.steps, lost)
    return dataclasses.replace(broker, addresses=(dataclasses.replace(address, steps=steps),))


def test_a_quota_is_not_read_as_the_loss_of_large_packets() -> None:
    """True cause: a quota throttles the client, so that the large request times out."""
    seen = facts([late(endpoint("a.example.com"), attempts=2)])
    state = ClusterState((1,), 12.0, throttles=(Throttle(1, 30.0),))
    assert found(seen, "large_requests_lost").certainty == "certain"
    seen = dataclasses.replace(seen, state=state)
    assert [finding.code for finding in errors(seen)] == []
    throttled = found(seen, "throttled")
    assert throttled.brokers == (1,)
    assert "ottla quotas list" in throttled.fix


def test_one_time_out_of_a_large_request_is_not_certain() -> None:
    """True cause: the broker stalled once. A second try, or a slow small request, decides."""
    once = facts([late(endpoint("a.example.com"))])
    finding = found(once, "large_requests_lost")
    assert finding.certainty == "likely"
    assert "unless the broker stalls" in finding.summary
    twice = facts([late(endpoint("a.example.com"), attempts=2)])
    [broker] = twice.brokers
    [address] = broker.endpoint.addresses
    slow = dataclasses.replace(address.steps[2], seconds=2.5)
    address = dataclasses.replace(address, steps=(*address.steps[:2], slow, *address.steps[3:]))
    broker = dataclasses.replace(
        broker, endpoint=dataclasses.replace(broker.endpoint, addresses=(address,))
    )
    assert found(
        dataclasses.replace(twice, brokers=(broker,)), "large_requests_lost"
    ).certainty == ("likely")


def test_a_check_that_passes_when_repeated_is_no_error() -> None:
    """True cause: the broker stalled during the first attempt only."""
    first = facts([late(endpoint("a.example.com"))])
    second = facts([endpoint("a.example.com")])
    [broker] = second.brokers
    [address] = broker.endpoint.addresses
    steps = (*address.steps, step("LargeRequest"))
    passed = dataclasses.replace(
        broker.endpoint, addresses=(dataclasses.replace(address, steps=steps),)
    )
    second = dataclasses.replace(second, brokers=(dataclasses.replace(broker, endpoint=passed),))
    merged = merge(first, second)
    assert errors(merged) == []
    stalls = found(merged, "stalls")
    assert stalls.brokers == (1,)
    assert "LargeRequest at broker 1" in stalls.summary
    [again] = merge(first, first).brokers
    assert again.endpoint.addresses[0].steps[-1].attempts == 2
    cut = dataclasses.replace(
        second, topics=Topics(step("Metadata", "out_of_time"), None, None, 0, 0)
    )
    assert merge(first, cut) is first


def replica(topic: str, **more: object) -> ReplicaState:
    base = ReplicaState(topic, 0, None, (2, 3), (3,), (2,), 1, topic.startswith("__"))
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


def with_partitions(*partitions: ReplicaState, named: str | None = None) -> Facts:
    seen = facts([endpoint("a.example.com")], state=ClusterState((1, 2), 3.0, partitions))
    assert seen.topics is not None
    leaderless = tuple((each.topic, 0) for each in partitions if each.leader is None)
    topics = dataclasses.replace(
        seen.topics, name=named, leaderless=leaderless, leaderless_count=len(leaderless)
    )
    return dataclasses.replace(seen, topics=topics)


def test_a_live_replica_that_may_not_lead() -> None:
    """True cause: broker 2 came back without the records that broker 3, which is down, has."""
    seen = with_partitions(replica("orders"), named="orders")
    [finding] = errors(seen)
    assert (finding.code, finding.brokers) == ("replicas_not_eligible", (2,))
    assert "start broker 3" in finding.fix
    assert "ottla topics elect-leaders --unclean --yes orders:0" in finding.fix
    assert "loses the records" in finding.fix


def test_no_group_works_without_a_leader_of_the_offsets_topic() -> None:
    """True cause: the only replica of __consumer_offsets had an unclean shutdown."""
    seen = with_partitions(replica("__consumer_offsets", replicas=(2,), in_sync=()))
    [finding] = errors(seen)
    assert finding.code == "replicas_not_eligible"
    assert "groups have no coordinator" in finding.summary
    assert "committed offsets" in finding.fix


def test_an_election_that_is_under_way_is_not_read_as_a_lost_replica() -> None:
    """True cause: the controllers are just electing a leader among live in-sync replicas."""
    seen = with_partitions(replica("orders", in_sync=(2, 3)), named="orders")
    assert [finding.code for finding in errors(seen)] == ["leaderless"]


@pytest.mark.parametrize(
    ("topic", "named", "severity"),
    [
        ("orders", "orders", "error"),
        ("orders", None, "warning"),
        ("__consumer_offsets", None, "error"),
    ],
)
def test_too_few_in_sync_replicas_for_acks_all(
    topic: str, named: str | None, severity: str
) -> None:
    """True cause: reads work, but each write with acks=all is rejected."""
    weak = replica(topic, leader=2, in_sync=(2,), min_in_sync=2)
    finding = found(with_partitions(weak, named=named), "below_min_isr")
    assert finding.severity == severity
    assert "NOT_ENOUGH_REPLICAS" in finding.summary
    assert ("groups cannot commit" in finding.summary) == topic.startswith("__")
    enough = replica(topic, leader=2, in_sync=(2, 3), min_in_sync=2)
    assert not errors(with_partitions(enough, named=named))


def test_a_topic_with_fewer_replicas_than_its_minimum() -> None:
    """True cause: min.insync.replicas is 2 and there is one replica: no broker is at fault."""
    weak = replica("orders", leader=2, replicas=(2,), in_sync=(2,), min_in_sync=2)
    assert "it has fewer replicas" in found(with_partitions(weak), "below_min_isr").fix


def test_a_voter_of_which_the_leader_knows_nothing() -> None:
    """True cause: voter 3 has been down since before the leader was elected."""
    quorum = Quorum((step("DescribeQuorum"),), 1, (Voter(1, 0), Voter(2, 200), Voter(3, None)))
    seen = dataclasses.replace(facts([endpoint("a.example.com")]), quorum=quorum)
    finding = found(seen, "controller_behind")
    assert finding.certainty == "likely"
    assert "3 since before it was elected" in finding.summary
    looked = dataclasses.replace(seen, state=ClusterState(silent_voters=(3,)))
    assert found(looked, "controller_behind").certainty == "certain"
    fetched = dataclasses.replace(seen, state=ClusterState(silent_voters=()))
    assert not [f for f in judge(fetched) if f.phase == "Controllers"]
    # Before Kafka 3.4, no voter has a time.
    old = dataclasses.replace(quorum, voters=(Voter(1), Voter(2), Voter(3)))
    assert not [f for f in judge(dataclasses.replace(seen, quorum=old)) if f.phase == "Controllers"]


@pytest.mark.parametrize("reason", ["speaks_tls", "speaks_plaintext", "wants_sasl", "without_sasl"])
def test_a_listener_that_advertises_the_port_of_another(reason: str) -> None:
    """True cause: advertised.listeners names the wrong port; security.protocol is right."""
    check = "TLS" if reason == "speaks_plaintext" else "ApiVersions"
    seen = facts([endpoint("kafka.example.com", step(check, reason))])
    [finding] = errors(seen)
    assert (finding.code, finding.phase) == ("advertised_protocol", "Advertised")
    assert "breaks the bootstrap" in finding.fix
    assert "advertised.listeners" in finding.fix


@pytest.mark.parametrize("host", ["10.0.1.5", "kafka-1", "kafka.example.com"])
def test_an_address_that_refuses_can_be_reached(host: str) -> None:
    """True cause: a proxy forwards the bootstrap port only."""
    [finding] = errors(facts([endpoint(host, step("TCP", "refused"))]))
    assert (finding.code, finding.certainty) == ("advertised_refused", "certain")
    assert "private" not in finding.summary
    assert "forward each broker's advertised port" in finding.fix


def test_names_with_ipv6_addresses_only() -> None:
    """True cause: this machine has no IPv6."""
    failed = step("TCP", "unreachable")
    address = Address("2001:db8::1", 9092, (failed,))
    server = Endpoint("kafka.example.com", 9092, step("DNS"), (address,))
    [finding] = errors(Facts("PLAINTEXT", (server,)))
    assert (finding.code, finding.phase) == ("no_ipv6", "TCP")
    [finding] = errors(facts([server]))
    assert (finding.code, finding.phase) == ("no_ipv6", "Advertised")
    assert "this name has only IPv6 addresses" in finding.summary
    # A name with both is judged by its IPv4 address.
    both = (address, Address("203.0.113.7", 9092, (step("TCP", "refused"),)))
    server = dataclasses.replace(server, addresses=both)
    [finding] = errors(Facts("PLAINTEXT", (server,)))
    assert finding.code == "some_addresses_fail" or finding.code == "tcp_refused"


def silent(responder: Responder | None, state: ClusterState | None) -> Finding:
    server = endpoint("kafka.example.com", step("ApiVersions", "timed_out"))
    [address] = server.addresses
    address = dataclasses.replace(address, responder=responder)
    seen = facts([dataclasses.replace(server, addresses=(address,))], state=state)
    [finding] = errors(seen)
    assert finding.certainty == "likely"
    return finding


def test_the_causes_of_silence_are_told_apart() -> None:
    """True causes: a firewall drops data; max.connections is reached; the process is frozen."""
    arrived = Responder(acknowledged=True)
    dropped = silent(Responder(acknowledged=False), None)
    assert "not acknowledged" in dropped.summary
    assert "firewalls" in dropped.fix
    full = silent(arrived, ClusterState((1,), 12.0))
    assert "heartbeats, so its process runs" in full.summary
    assert "max.connections" in full.fix
    frozen = silent(arrived, ClusterState((2,), 12.0))
    assert "its process is frozen" in frozen.summary
    # The controllers may not have noticed yet.
    unknown = silent(arrived, ClusterState((1,), 5.0))
    assert "SIGSTOP" in unknown.fix
    assert "max.connections" in unknown.fix
    narrow = silent(Responder(acknowledged=True, small_response=True), None)
    assert (narrow.code, "MTU" in narrow.fix) == ("large_requests_lost", True)


@pytest.mark.parametrize(
    ("sent", "head", "protocol"),
    [
        (b"", b"220 mail.example.com ESMTP", "SMTP"),
        (b"", b"220 (vsFTPd 3.0.5)", "FTP"),
        (b"", b"J\x00\x00\x00\x0a8.0.36\x00", "MySQL"),
        (b"", b"E\x00\x00\x00\xffj\x04Host '10.0.0.1' is blocked", "MySQL"),
        (b"", b"SSH-2.0-OpenSSH_9.6", "SSH"),
        (b"PING\r\n", b"+PONG\r\n", "Redis"),
        (b"PING\r\n", b"-NOAUTH Authentication required.", "Redis"),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"S", "PostgreSQL"),
        (b"\x00\x00\x00\x2b", b"E\x00\x00\x00\x0aSFATAL\x00VFATAL\x00", "PostgreSQL"),
        (b"srvr", b"Zookeeper version: 3.9.3", "ZooKeeper"),
        (b"AMQP\x00\x00\x09\x01", b"\x01\x00\x00\x00\x00\x01\xf4", "AMQP"),
        (b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.0 404 Not Found", "HTTP"),
        (b"", b"N", None),
        (b"", b"\x00\x00\x00\x04\xff\xff\xff\xff", None),
    ],
)
def test_protocols_are_recognised(sent: bytes, head: bytes, protocol: str | None) -> None:
    assert protocol_of(sent, head) == protocol
