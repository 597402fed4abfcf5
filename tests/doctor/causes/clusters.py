"""Faulty clusters: the set-ups of tests/mock/test_doctor.py and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

# What a firewall, a wrong password or a dead process would be; wrong where none of them exists.
_NOT_THE_NETWORK = ("packets are dropped", "drops large packets", "no route")

CLUSTERS = {
    "healthy": Cause(
        "three brokers, a topic and a group, all well",
        "nothing is wrong",
        severity="none",
        never=_NOT_THE_NETWORK,
    ),
    "unknown_topic": Cause(
        "the topic that is asked for does not exist",
        "Metadata: the topic is unknown",
        ("not-there", "UNKNOWN_TOPIC|does not exist|unknown"),
        ("name|create",),
        _NOT_THE_NETWORK,
    ),
    "hanging_transaction": Cause(
        "two partitions have an open transaction that no coordinator knows",
        "both transactions hang; read_committed stops at their offsets",
        ("orders-0", "orders-1", "read_committed", "never end|hang"),
        ("ottla transactions abort",),
        severity="warning",
    ),
    "dead_bootstrap_server": Cause(
        "broker 2 of 3 is stopped, and the bootstrap list names all three",
        "broker 2 is down; clients work with the other two",
        ("broker 2", "down"),
        ("start",),
        _NOT_THE_NETWORK,
        severity="warning",
    ),
    "broker_down": Cause(
        "the metadata names broker 2 at a port where nothing listens",
        "broker 2's advertised address refuses connections",
        ("broker 2", "127.0.0.1:9999", "refuse"),
        ("running|listens",),
        ("packets are dropped", "private", "does not respond"),
    ),
    "advertised_localhost": Cause(
        "each broker advertises a loopback port where nothing listens",
        "advertised.listeners of all three brokers are loopback addresses",
        ("127.0.0.1:19092", "127.0.0.1:19094", "loopback"),
        ("advertised.listeners",),
        ("private",),
    ),
    "advertised_unresolved": Cause(
        "each broker advertises a name that nobody can resolve",
        "the advertised names cannot be resolved",
        ("kafka-1.invalid", "kafka-3.invalid", "cannot be resolved"),
        ("DNS", "advertised.listeners"),
        ("container", "private"),
    ),
    "one_address": Cause(
        "brokers 1 and 2 advertise the same address",
        "one address stands for two brokers",
        ("brokers 1, 2", "same address", "127.0.0.1:9092"),
        ("address of its own",),
        _NOT_THE_NETWORK,
    ),
    "swapped_addresses": Cause(
        "brokers 1 and 2 advertise each other's address",
        "another broker responds at each of the two addresses",
        ("broker 1", "127.0.0.1:9093", "broker 2 responds"),
        ("advertised.listeners",),
        ("restart the client",),
        also=("broker 2 advertises 127.0.0.1:9092, but broker 1 responds",),
    ),
    "leaderless": Cause(
        "brokers 2 and 3, which have the only replicas of two partitions, are stopped",
        "two partitions have no leader, since their brokers are down",
        ("alone-0", "alone-1", "no leader"),
        ("brokers|start",),
    ),
    "read_denied": Cause(
        "the principal may describe the topic and not read it",
        "Fetch is denied: the ACL Read on the topic is missing",
        ("orders-0", "TOPIC_AUTHORIZATION_FAILED"),
        ("Read on the topic",),
        ("down", "password"),
        also=("TOPIC_AUTHORIZATION_FAILED",),
    ),
    "no_coordinator": Cause(
        "FindCoordinator returns COORDINATOR_NOT_AVAILABLE",
        "the group has no coordinator",
        ("billing", "COORDINATOR_NOT_AVAILABLE"),
        ("__consumer_offsets",),
        _NOT_THE_NETWORK,
    ),
    "no_metadata": Cause(
        "the broker closes the connection at the request for metadata",
        "the bootstrap server speaks Kafka and returns no metadata",
        ("127.0.0.1:9092", "no metadata", "closed"),
        ("log",),
        ("packets are dropped",),
    ),
    "large_requests_lost": Cause(
        "the path to broker 2 drops packets of more than 1448 bytes",
        "an MTU black hole before broker 2",
        ("broker 2", "large packets"),
        ("MTU",),
        ("quota", "disk"),
    ),
    "port_controller": Cause(
        "the bootstrap server is the port of a KRaft controller",
        "a controller's port does not serve clients",
        ("127.0.0.1:9092", "controller"),
        ("listener",),
        ("TLS", "SASL"),
    ),
    "no_quorum": Cause(
        "no broker gets a response to DescribeQuorum",
        "the KRaft controllers have no leader",
        ("controllers", "no leader"),
        ("majority",),
        ("packets are dropped",),
    ),
    "advertised_tls": Cause(
        "a plaintext listener at which broker 2 advertises the port of its TLS listener (once "
        "more, at a listener that answers with an alert)",
        "advertised.listeners of broker 2 names the wrong port",
        ("broker 2", "advertise", "TLS"),
        ("advertised.listeners",),
        ("^set security.protocol to SSL", "packets are dropped"),
    ),
    "below_min_isr": Cause(
        "a topic with min.insync.replicas=2 of which two replicas are down (once more, at the "
        "mock)",
        "no write with acks=all succeeds, since brokers 2 and 3 are down",
        ("payments-0", "min.insync.replicas", "acks=all", "fail"),
        ("bring back the brokers",),
        _NOT_THE_NETWORK,
        also=("brokers 2, 3",),
    ),
    "throttled": Cause(
        "each response of broker 2 has a throttle time of 0.3 s",
        "a quota throttles this client at broker 2; the broker is not slow",
        ("broker 2", "quota|throttle"),
        ("quota",),
        ("brokers are slow", *_NOT_THE_NETWORK),
        severity="warning",
    ),
}
