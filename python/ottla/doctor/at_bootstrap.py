"""Step one and two: is there a server that can be reached, speaks Kafka, and knows its cluster?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.doctor.at_port import at_port, at_unresolved
from ottla.doctor.facts import Endpoint, Facts
from ottla.doctor.findings import Finding, Severity


def judge_bootstrap(facts: Facts) -> Iterator[Finding]:
    """Return what is wrong with the bootstrap servers; one that works makes the rest warnings."""
    working = [server for server in facts.bootstrap if server.working is not None]
    severity: Severity = "warning" if working else "error"
    for server in facts.bootstrap:
        yield from _judge_server(server, severity, facts.security_protocol)
    yield from _judge_agreement(working)
    if facts.cluster is not None and not facts.cluster.brokers:
        yield Finding(
            "error",
            "Metadata",
            "no_brokers",
            "the cluster's metadata names no broker",
            "the broker that answered is starting, or is cut off from its controllers: look into "
            "its log, and at the quorum of controllers",
        )


def _judge_server(server: Endpoint, severity: Severity, protocol: str) -> Iterator[Finding]:
    subject = f"bootstrap server {server.name}"
    if server.out_of_time:
        return
    if not server.dns.ok:
        yield at_unresolved(subject, server, severity)
        return
    failed = [(address, address.failure) for address in server.addresses]
    broken = [(address, step) for address, step in failed if step is not None]
    if server.working is None:
        if server.failure is not None:
            address, step = server.failure
            alike = all((s.check, s.reason) == (step.check, step.reason) for _, s in broken)
            # The addresses of a name fail alike as a rule; else it is said which is meant.
            where = subject if alike else f"{subject} ({address.ip})"
            yield at_port(where, address, step, severity, protocol)
    elif broken:
        bad = ", ".join(f"{address.ip}: {step.message}" for address, step in broken)
        yield Finding(
            "warning",
            broken[0][1].check if broken[0][1].check in {"TCP", "TLS", "SASL"} else "ApiVersions",
            "some_addresses_fail",
            f"{subject} has {len(server.addresses)} addresses, of which not all work ({bad})",
            "clients try them in turn, so that some connections are late: take the bad ones out of "
            "DNS, or have the broker listen there too",
        )


def _judge_agreement(working: list[Endpoint]) -> Iterator[Finding]:
    clusters: dict[str, list[str]] = {}
    for server in working:
        for address in server.addresses:
            if address.view is not None and address.view.cluster_id is not None:
                clusters.setdefault(address.view.cluster_id, []).append(server.name)
    if len(clusters) > 1:
        told = "; ".join(
            f"{', '.join(dict.fromkeys(servers))} to {cluster}"
            for cluster, servers in clusters.items()
        )
        yield Finding(
            "error",
            "Metadata",
            "different_clusters",
            f"the bootstrap servers belong to different clusters: {told}",
            "name servers of one cluster only: which one a client finds is a matter of chance",
        )
