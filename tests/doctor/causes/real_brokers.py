"""Faults of real brokers, and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_NETWORK = ("packets are dropped", "large packets", "no route")

REAL_BROKERS = {
    "brokers/tls_port_advertised": Cause(
        "a plaintext listener at which broker 2 advertises the port of its TLS listener",
        "advertised.listeners of broker 2 names the wrong port",
        ("broker 2", "advertise", "TLS"),
        ("advertised.listeners",),
        # The bootstrap server speaks plaintext: with SSL, nothing would work.
        ("^set security.protocol to SSL", "packets are dropped"),
    ),
    "brokers/max_connections": Cause(
        "max.connections of the broker is reached: it accepts no more connections",
        "the operating system accepts the connection, and the broker takes it up when others close",
        (r"127\.0\.0\.1:9092", "accepts connections", "not respond"),
        ("max.connections",),
        (*_NETWORK, "speaks TLS"),
    ),
    "brokers/max_connections_per_ip": Cause(
        "max.connections.per.ip is reached for this client's address",
        "the broker closes new connections of this address at once",
        (r"127\.0\.0\.1:9092", "closes|closed"),
        ("max.connections",),
        (*_NETWORK, "speaks TLS"),
    ),
    "brokers/request_quota": Cause(
        "the quota request_percentage throttles this client for seconds at each request",
        "a quota throttles this client; the broker is not slow",
        ("quota|throttle",),
        ("quota",),
        ("disk", "large packets", *_NETWORK, "hangs"),
        severity="warning",
    ),
    "brokers/throttled_and_stalling": Cause(
        "the quota request_percentage throttles this client, and broker 2 stops for seconds",
        "a quota throttles this client, and broker 2 responds late or not at all",
        ("quota|throttle",),
        ("quota",),
        ("network path drops large packets",),
        also=("broker 2",),
        severity="warning",
    ),
    "brokers/below_min_isr": Cause(
        "a topic with min.insync.replicas=2 has one in-sync replica left",
        "no write with acks=all succeeds",
        ("min.insync.replicas|min ISR", "acks=all", "fail"),
        ("replica|broker",),
        _NETWORK,
    ),
    "brokers/frozen": Cause(
        "broker 2 of 3 is stopped with SIGSTOP: its sockets stay open",
        "broker 2 accepts connections and does not respond: the process hangs",
        ("broker 2", "accepts connections", "not respond"),
        ("hangs|frozen|paused|garbage",),
        ("large packets", "nothing listens"),
    ),
    "brokers/dead_voter": Cause(
        "controller 3 is dead, and the leader of the controllers was restarted since",
        "one of three voters is down; no other may fail",
        ("controller", r"\b3\b"),
        ("start",),
        _NETWORK,
        also=("broker 3",),
        severity="warning",
    ),
    # The other cause of this state, replicas that all come back after unclean shutdowns and are not
    # eligible, is not set up: then no in-sync replica is down, and the fix is the same.
    "brokers/not_eligible": Cause(
        "broker 2, which has the only in-sync replica, is dead; broker 3 came back after an "
        "unclean shutdown with a replica that is not eligible to lead",
        "the partition has no leader although a broker with a replica of it is up",
        ("no leader", "eligible|in-sync"),
        ("bring back|start", "elect-leaders|elect.*unclean|unclean.*elect"),
        _NETWORK,
    ),
    "brokers/offsets_without_leader": Cause(
        "the broker with the only replica of the group's partition of __consumer_offsets is dead",
        "the group has no coordinator, since __consumer_offsets has no leader there",
        ("billing", "coordinator"),
        ("__consumer_offsets|broker",),
        _NETWORK,
        also=("__consumer_offsets", "broker 2"),
    ),
    "brokers/stuck_reassignment": Cause(
        "a partition is being moved to a broker that is dead",
        "the reassignment never ends while broker 3 is down",
        ("reassign", r"orders-0|\b3\b"),
        ("start|cancel",),
        _NETWORK,
        severity="warning",
    ),
    "brokers/old_release": Cause(
        "a broker of Kafka 2.8, with ZooKeeper",
        "nothing is wrong: it is an older broker, without a KRaft quorum",
        severity="none",
        never=("no leader", "hang"),
    ),
    "brokers/zookeeper": Cause(
        "the port of a real ZooKeeper server",
        "the port is not that of a Kafka broker: what listens there closes the connection",
        (r"127\.0\.0\.1:8080", "closes|ZooKeeper"),
        ("listens|ZooKeeper",),
        (*_NETWORK, "speaks TLS", "SASL_PLAINTEXT"),
    ),
}
