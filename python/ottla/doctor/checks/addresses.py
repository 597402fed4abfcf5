"""The kinds of addresses that brokers advertise, and the words for them.

Invariant: an address is private only if it can be the address of an internal network.
"""

from __future__ import annotations

import ipaddress

from ottla._internal.text import listed
from ottla.doctor.cluster_facts import Broker

# RFC 1918 and RFC 4193; is_private has more, such as the addresses of documentation.
_PRIVATE = [
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
]


def advertised(brokers: list[Broker]) -> str:
    """Return a clause about the advertised address of each broker."""
    return listed([f"broker {broker.id} advertises {broker.endpoint.name}" for broker in brokers])


def ids_of(brokers: list[Broker]) -> tuple[int, ...]:
    """Return the ids of brokers."""
    return tuple(broker.id for broker in brokers)


def kind_of(host: str) -> str:
    """Return the kind of a host's address: loopback, private, …, name, or container."""
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        internal = "." not in host or host.endswith((".internal", ".local"))
        return "container" if internal else "name"
    if address.is_unspecified:
        return "unspecified"
    if address.is_loopback:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "private" if any(address in network for network in _PRIVATE) else "public"
