"""Faulty networks: the set-ups of tests/network/test_doctor.py."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

NETWORKS = {
    "network/advertised_localhost": Cause(
        "each broker advertises localhost",
        "advertised.listeners of all three brokers are loopback addresses",
        ("localhost:9096", "loopback"),
        ("advertised.listeners",),
        ("private",),
    ),
    "network/internal_addresses_behind_nat": Cause(
        "clients behind NAT get the brokers' private addresses",
        "the advertised addresses are private, and no route leads there",
        ("10.213.0.11", "10.213.0.13", "not respond", "private"),
        ("advertised.listeners",),
        ("refuse",),
    ),
    "network/names_unknown_to_the_client": Cause(
        "each broker advertises a name that this client cannot resolve",
        "the advertised names cannot be resolved",
        ("kafka1.ottla.test", "kafka3.ottla.test", "cannot be resolved"),
        ("DNS",),
        ("private",),
    ),
    "network/one_address_for_all": Cause(
        "a load balancer stands in front of all brokers, which advertise it",
        "one address stands for three brokers",
        ("brokers 1, 2, 3", "kafka.ottla.test:9095", "same address"),
        ("address of its own",),
    ),
    "network/blackhole": Cause(
        "a firewall drops all packets to broker 2",
        "broker 2 does not respond to connections",
        ("broker 2", "kafka2.ottla.test:9093", "not respond"),
        ("firewall",),
        ("refuse", "private", "large packets"),
    ),
    "network/reject": Cause(
        "a firewall rejects connections to broker 2",
        "broker 2's address refuses connections",
        ("broker 2", "kafka2.ottla.test:9093", "refuse"),
        ("firewall",),
        ("private", "large packets"),
    ),
    "network/mute": Cause(
        "connections to broker 2 open, and their data is lost",
        "broker 2's address accepts connections and does not respond",
        ("broker 2", "kafka2.ottla.test:9093", "accepts connections"),
        ("firewall",),
        ("refuse", "private"),
    ),
    "network/narrow": Cause(
        "the path to broker 2 drops packets of more than 1300 bytes",
        "an MTU black hole before broker 2",
        ("broker 2", "large packets"),
        ("MTU",),
        ("quota", "disk"),
    ),
    "network/bootstrap_blackholed": Cause(
        "a firewall drops all packets to the only bootstrap server",
        "the bootstrap server does not respond",
        ("198.18.0.1:19001", "not respond"),
        ("firewall",),
        ("refuse",),
    ),
    "network/mtu_900": Cause(
        "the path to broker 2 drops packets of more than 900 bytes",
        "an MTU black hole before broker 2, with a much smaller MTU than a tunnel's",
        ("broker 2", "large packets"),
        ("MTU", r"ping|measure|tracepath|\b[5-9]\d\d\b"),
        ("quota", "disk"),
    ),
    "network/mtu_900_everywhere": Cause(
        "the paths to all brokers drop packets of more than 900 bytes",
        "an MTU black hole before all bootstrap servers",
        (r"kafka[123]\.ottla\.test", "large packets"),
        ("MTU", r"ping|measure|tracepath|\b[5-9]\d\d\b"),
        ("quota", "disk", "hangs"),
    ),
    "network/no_ipv6": Cause(
        "the name that broker 2 advertises has an IPv6 address only; this machine has no IPv6",
        "this machine has no IPv6 route; the name has no IPv4 address",
        ("broker 2", "kafka2.ottla.test", "IPv6"),
        ("IPv6", "IPv4|A record"),
        ("packets are dropped", "cannot be resolved", "private"),
    ),
    "network/proxy_without_broker_ports": Cause(
        "a proxy at a private address forwards the bootstrap port, and not broker 2's",
        "the private address is reached, and nothing listens at the advertised port",
        ("broker 2", "10.9.8.7:19092", "refuse"),
        ("port|listen|proxy",),
        ("private, so clients outside", "cannot reach", "not respond"),
    ),
}
