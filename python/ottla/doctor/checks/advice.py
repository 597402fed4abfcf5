"""Good practice: notes about set-ups that work now but may fail later, warnings if that is soon."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ottla._internal.text import listed
from ottla.doctor.checks.gateways import has_gateway
from ottla.doctor.cluster_facts import Broker, LogDir
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding

# Replicas that one broker should host at most: Kafka's own recommendation.
REPLICAS_PER_BROKER = 4000
# A volume with less free space is about to fill up: logs grow by whole segments.
FREE_PERCENT = 10


def advise(facts: Facts) -> Iterator[Finding]:
    """Return the notes and warnings that apply."""
    yield from _bootstrap_servers(facts)
    yield from _addresses(facts)
    yield from _replicas(facts)
    yield from _disks(facts)


def _bootstrap_servers(facts: Facts) -> Iterator[Finding]:
    working = [
        broker
        for broker in facts.brokers
        if broker.endpoint.working is not None and not _is_unspecified(broker.endpoint.host)
    ]
    # A name with several addresses stands for several servers.
    if len(facts.bootstrap) != 1 or len(facts.bootstrap[0].addresses) > 1 or len(working) < 2:
        return
    name = facts.bootstrap[0].name
    if has_gateway(facts):
        # The other ports are on the same host, and closed when the gateway is down.
        yield Finding(
            "note",
            "TCP",
            "one_bootstrap_server",
            f"{name} is the only bootstrap server: while this gateway is down, no client can "
            "start, even if all brokers are running",
            "run another gateway, and list the bootstrap addresses of both, or let a load balancer "
            "choose between them",
        )
        return
    # With spaces, which the key allows, so that the line can be wrapped.
    servers = ", ".join(list(dict.fromkeys(broker.endpoint.name for broker in working))[:3])
    if "," not in servers:
        return
    yield Finding(
        "note",
        "TCP",
        "one_bootstrap_server",
        f"{name} is the only bootstrap server: while it is down, no client can "
        "start, even if the other brokers are running",
        f"list two or three: bootstrap.servers={servers}",
    )


def _addresses(facts: Facts) -> Iterator[Finding]:
    numeric = [
        broker
        for broker in facts.brokers
        if _is_numeric(broker.endpoint.host) and not _is_unspecified(broker.endpoint.host)
    ]
    if numeric and has_gateway(facts):
        yield Finding(
            "note",
            "Advertised",
            "numeric_addresses",
            "the gateway is known by an IP address: all clients have to be reconfigured when it "
            "gets another one, and TLS certificates are rarely issued for IP addresses",
            "let it advertise a host name (--advertise)",
            tuple(broker.id for broker in numeric),
        )
    elif numeric:
        yield Finding(
            "note",
            "Advertised",
            "numeric_addresses",
            f"{_named(numeric, 'advertises an IP address', 'advertise IP addresses')}: a broker "
            "that gets another address has to be reconfigured, and TLS certificates are rarely "
            "issued for IP addresses",
            "advertise host names (advertised.listeners)",
            tuple(broker.id for broker in numeric),
        )


def _is_numeric(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_unspecified(host: str) -> bool:
    return _is_numeric(host) and ipaddress.ip_address(host).is_unspecified


def _replicas(facts: Facts) -> Iterator[Finding]:
    crowded = [broker for broker in facts.brokers if broker.replicas > REPLICAS_PER_BROKER]
    if crowded:
        most = max(broker.replicas for broker in crowded)
        yield Finding(
            "note",
            "Leaders",
            "many_partitions",
            f"{_named(crowded, 'hosts', 'host')} more than {REPLICAS_PER_BROKER:,} replicas (up to "
            f"{most:,}): failover and restarts take long",
            "add brokers, or use fewer partitions per topic",
            tuple(broker.id for broker in crowded),
        )


def _disks(facts: Facts) -> Iterator[Finding]:
    failed = [(b, d) for b in facts.brokers for d in b.log_dirs if d.error == "KAFKA_STORAGE_ERROR"]
    if failed:
        yield Finding(
            "warning",
            "Leaders",
            "log_dir_failed",
            f"log directories have failed: {_directories(failed)}; their replicas are offline",
            "check the broker's log and the disk; replace the disk and restart the broker",
            tuple(dict.fromkeys(broker.id for broker, _ in failed)),
        )
    full = [(b, d) for b in facts.brokers for d in b.log_dirs if _free(d) < FREE_PERCENT]
    if full:
        yield Finding(
            "warning",
            "Leaders",
            "disk_full",
            f"disks are nearly full: {_directories(full)}; a broker with a full disk stops",
            "add space, shorten the retention of large topics, or move partitions to other brokers",
            tuple(dict.fromkeys(broker.id for broker, _ in full)),
        )


def _free(directory: LogDir) -> float:
    """Return the free space of the directory's volume, in percent."""
    if directory.usable_bytes is None or not directory.total_bytes:
        return 100.0
    return 100 * directory.usable_bytes / directory.total_bytes


def _directories(found: list[tuple[Broker, LogDir]]) -> str:
    named = []
    for broker, directory in found:
        free = "" if directory.usable_bytes is None else f" ({_free(directory):.0f} % free)"
        named.append(f"{directory.path} of broker {broker.id}{free}")
    return listed(named)


def _named(brokers: list[Broker], singular: str, plural: str) -> str:
    """Return the brokers as the subject of a sentence, with its verb in the right form."""
    ids = listed([str(broker.id) for broker in brokers])
    return f"broker {ids} {singular}" if len(brokers) == 1 else f"brokers {ids} {plural}"
