"""More faulty networks, each in a network namespace, and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

MORE_NETWORKS = {
    "namespaces/ipv6_name_without_ipv6": Cause(
        "the bootstrap name has an IPv6 address only, and this machine has no IPv6",
        "this machine has no IPv6 route; the name has no IPv4 address",
        ("kafka6.ottla.test", "IPv6"),
        ("IPv6", "IPv4|A record"),
        ("packets are dropped", "cannot be resolved on this machine: the resolver"),
    ),
    "namespaces/one_of_two_addresses": Cause(
        "the bootstrap name has an IPv6 and an IPv4 address, and nothing listens at IPv6",
        "one of the two addresses refuses connections; clients try the other, and work",
        ("kafka.ottla.test", "::1", "refuse|fail"),
        ("DNS|listen",),
        ("packets are dropped",),
        severity="warning",
    ),
    "namespaces/advertised_without_route": Cause(
        "the brokers advertise public addresses, and this machine has no route there",
        "there is no route to the advertised addresses",
        ("broker 1", "203.0.113.1", "no route"),
        ("route|routing",),
        ("refuse", "private", "firewall that accepts"),
    ),
    "namespaces/advertised_ports_refuse": Cause(
        "proxies stand before the brokers at a private address; the advertised ports refuse",
        "the private address is reached, and nothing listens at the advertised ports",
        ("broker 1", "10.9.9.9:19001", "refuse"),
        ("port|listen|proxy",),
        ("private, so clients outside", "cannot reach them", "not respond"),
    ),
    "namespaces/narrow_900": Cause(
        "the path to broker 2 drops packets of more than 900 bytes",
        "an MTU black hole before broker 2, with a much smaller MTU than a tunnel's",
        ("broker 2", "large packets"),
        ("MTU", r"ping|measure|tracepath|\b[5-9]\d\d\b"),
        ("quota", "disk"),
    ),
    "namespaces/packet_loss": Cause(
        "the path to the brokers loses a fifth of the packets",
        "nothing is down: connections work, slower",
        severity="none",
        never=("is down", "private", "large packets", "broker's disk"),
    ),
}
