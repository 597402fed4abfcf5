"""Good practice: what works now and may hurt later, as notes; as warnings where later is soon."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ottla.doctor.facts import Broker, Facts, LogDir
from ottla.doctor.findings import Finding

# Replicas that one broker should hold at most: Kafka's own recommendation.
REPLICAS_PER_BROKER = 4000
# A volume with less free than this fails soon: logs grow by whole segments.
FREE_PERCENT = 10


def advise(facts: Facts) -> Iterator[Finding]:
    """Return the advice that the facts give reason for."""
    yield from _bootstrap_servers(facts)
    yield from _addresses(facts)
    yield from _replicas(facts)
    yield from _disks(facts)


def _bootstrap_servers(facts: Facts) -> Iterator[Finding]:
    working = [broker for broker in facts.brokers if broker.endpoint.working is not None]
    # Several addresses behind one name are several servers.
    if len(facts.bootstrap) != 1 or len(facts.bootstrap[0].addresses) > 1 or len(working) < 2:
        return
    # With spaces, which the key allows, so that the line can be folded.
    servers = ", ".join(list(dict.fromkeys(broker.endpoint.name for broker in working))[:3])
    if "," not in servers:
        return
    yield Finding(
        "note",
        "TCP",
        "one_bootstrap_server",
        f"{facts.bootstrap[0].name} is the only bootstrap server: while it is down, no client "
        "starts, although the other brokers run",
        f"name two or three: bootstrap.servers={servers}",
    )


def _addresses(facts: Facts) -> Iterator[Finding]:
    numeric = [broker for broker in facts.brokers if _is_numeric(broker.endpoint.host)]
    if numeric:
        yield Finding(
            "note",
            "Advertised",
            "numeric_addresses",
            f"{_named(numeric)} advertise IP addresses: a broker that moves to another address has "
            "to be reconfigured, and TLS certificates are rarely issued for addresses",
            "advertise host names (advertised.listeners)",
            tuple(broker.id for broker in numeric),
        )


def _is_numeric(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _replicas(facts: Facts) -> Iterator[Finding]:
    crowded = [broker for broker in facts.brokers if broker.replicas > REPLICAS_PER_BROKER]
    if crowded:
        most = max(broker.replicas for broker in crowded)
        yield Finding(
            "note",
            "Leaders",
            "many_partitions",
            f"{_named(crowded)} hold more than {REPLICAS_PER_BROKER:,} replicas each (up to "
            f"{most:,}): failover and restarts of such brokers take long",
            "add brokers, or give topics fewer partitions",
            tuple(broker.id for broker in crowded),
        )


def _disks(facts: Facts) -> Iterator[Finding]:
    failed = [(b, d) for b in facts.brokers for d in b.log_dirs if d.error == "KAFKA_STORAGE_ERROR"]
    if failed:
        yield Finding(
            "warning",
            "Leaders",
            "log_dir_failed",
            f"directories have failed: {_directories(failed)}; their replicas are offline",
            "look into the broker's log and at the disk; replace it and restart the broker",
            tuple(dict.fromkeys(broker.id for broker, _ in failed)),
        )
    full = [(b, d) for b in facts.brokers for d in b.log_dirs if _free(d) < FREE_PERCENT]
    if full:
        yield Finding(
            "warning",
            "Leaders",
            "disk_full",
            f"disks are nearly full: {_directories(full)}; a broker whose disk is full stops",
            "add space, shorten the retention of large topics, or move partitions to other brokers",
            tuple(dict.fromkeys(broker.id for broker, _ in full)),
        )


def _free(directory: LogDir) -> float:
    """Return how much of the directory's volume is free, in percent."""
    if directory.usable_bytes is None or not directory.total_bytes:
        return 100.0
    return 100 * directory.usable_bytes / directory.total_bytes


def _directories(found: list[tuple[Broker, LogDir]], limit: int = 5) -> str:
    named = []
    for broker, directory in found[:limit]:
        free = "" if directory.usable_bytes is None else f" ({_free(directory):.0f} % free)"
        named.append(f"{directory.path} of broker {broker.id}{free}")
    more = f" and {len(found) - limit} more" if len(found) > limit else ""
    return ", ".join(named) + more


def _named(brokers: list[Broker], limit: int = 5) -> str:
    ids = ", ".join(str(broker.id) for broker in brokers[:limit])
    more = f" and {len(brokers) - limit} more" if len(brokers) > limit else ""
    return f"brokers {ids}{more}"
