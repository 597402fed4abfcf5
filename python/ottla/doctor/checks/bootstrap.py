"""Step one and two: can a bootstrap server be reached, and does it return metadata?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ottla.doctor.checks.balancers import clusters_of, judge_clusters, shared_by_clusters
from ottla.doctor.checks.liveness import fenced_at, frozen, server_is_alive
from ottla.doctor.checks.port import port_finding, unresolved_finding
from ottla.doctor.connection_facts import Endpoint
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding, Severity


def judge_bootstrap(facts: Facts) -> Iterator[Finding]:
    """Return the findings about bootstrap servers: warnings if one of them works, else errors."""
    working = [server for server in facts.bootstrap if server.working is not None]
    severity: Severity = "warning" if working else "error"
    for server in facts.bootstrap:
        yield from _judge_server(facts, server, severity)
    yield from judge_clusters(facts)
    yield from _judge_agreement(facts, working)
    if facts.cluster is not None and not facts.cluster.brokers:
        yield Finding(
            "error",
            "Metadata",
            "no_brokers",
            "the cluster's metadata lists no brokers",
            "check the log of the broker that responded, and the controllers' quorum: the broker "
            "is starting, or has lost its controllers",
        )


def _judge_server(facts: Facts, server: Endpoint, severity: Severity) -> Iterator[Finding]:
    broker = fenced_at(facts, server)
    known = "" if broker is None else f" (broker {broker})"
    subject = f"bootstrap server {server.name}{known}"
    if server.out_of_time:
        return
    if not server.dns.ok:
        yield unresolved_finding(subject, server, severity)
        return
    failed = [(address, address.failure) for address in server.addresses]
    broken = [(address, step) for address, step in failed if step is not None]
    if server.working is None:
        if server.failure is not None:
            address, step = server.failure
            alike = all((s.check, s.reason) == (step.check, step.reason) for _, s in broken)
            # Usually, all addresses of a name fail alike; otherwise name the one that is meant.
            where = subject if alike else f"{subject} ({address.ip})"
            found = port_finding(
                where,
                address,
                step,
                severity,
                facts.security_protocol,
                server_is_alive(facts, server),
            )
            if broker is not None and broker in frozen(facts):
                # Clients hang that start there or are connected to it: as long as its process is
                # frozen, its sockets stay open.
                found = dataclasses.replace(found, severity="error", brokers=(broker,))
            yield found
    elif broken:
        causes = ", ".join(f"{address.ip}: {step.message}" for address, step in broken)
        yield Finding(
            "warning",
            broken[0][1].check if broken[0][1].check in {"TCP", "TLS", "SASL"} else "ApiVersions",
            "some_addresses_fail",
            f"{subject} has {len(server.addresses)} addresses, and some of them fail ({causes})",
            "remove the failing addresses from DNS, or let the broker listen there too: clients "
            "try the addresses in turn, so some connections are slow",
        )


def _judge_agreement(facts: Facts, working: list[Endpoint]) -> Iterator[Finding]:
    clusters: dict[str, list[str]] = {}
    shared = shared_by_clusters(facts)
    for server in working:
        # A server that leads to several clusters has a finding of its own.
        for cluster in clusters_of(server) if server.name not in shared else ():
            clusters.setdefault(cluster, []).append(server.name)
    if len(clusters) > 1:
        assignment = "; ".join(
            f"{', '.join(dict.fromkeys(servers))} to {cluster}"
            for cluster, servers in clusters.items()
        )
        yield Finding(
            "error",
            "Metadata",
            "different_clusters",
            f"the bootstrap servers belong to different clusters: {assignment}",
            "list servers of one cluster only; otherwise, each client uses one of the clusters at "
            "random",
        )
