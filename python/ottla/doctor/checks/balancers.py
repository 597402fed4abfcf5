"""Does each address lead to one cluster, and each advertised one to one broker, every time?

A load balancer chooses a server for each connection, so the facts of several connections are
compared. Invariant: an address that leads to several has one finding, whatever the first
connection led to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ottla._internal.text import listed
from ottla.doctor.checks.addresses import advertised, ids_of
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.connection_facts import Endpoint
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding


@dataclass
class _Name:
    """A server's name: the clusters behind it, and what it is used for."""

    clusters: dict[str, None] = field(default_factory=dict)
    brokers: list[Broker] = field(default_factory=list)
    is_bootstrap: bool = False


def clusters_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return the ids of the clusters whose brokers responded at a server's name."""
    found: dict[str, None] = {}
    for address in endpoint.addresses:
        if address.view is not None and address.view.cluster_id is not None:
            found[address.view.cluster_id] = None
    for address in endpoint.addresses:
        found.update(dict.fromkeys(address.other_clusters))
    return tuple(found)


def shared_by_clusters(facts: Facts) -> Mapping[str, tuple[str, ...]]:
    """Return the servers behind which there are several clusters, by name, with the ids."""
    return {name: tuple(found.clusters) for name, found in _names(facts).items()}


def leads_to_several(broker: Broker) -> bool:
    """Return whether several brokers respond at a broker's advertised address."""
    return any(address.other_nodes for address in broker.endpoint.addresses)


def judge_clusters(facts: Facts) -> Iterator[Finding]:
    """Return the findings about addresses that lead to several clusters."""
    for name, found in _names(facts).items():
        # Both are at fault where an address is used for both; a client meets the bootstrap first.
        subject = f"bootstrap server {name} leads" if found.is_bootstrap else ""
        if not found.is_bootstrap:
            subject = f"{advertised(found.brokers)}, which leads"
        yield Finding(
            "error",
            "Metadata" if found.is_bootstrap else "Advertised",
            "several_clusters",
            f"{subject} to brokers of {len(found.clusters)} clusters "
            f"({listed(list(found.clusters))}): a load balancer, port forwarding or DNS chooses "
            "one of them for each connection, so a client's requests reach both clusters",
            "let the address lead to brokers of one cluster only: correct the load balancer's "
            "targets, the port forwarding or the DNS name; a load balancer may stand in front of "
            "the bootstrap servers of one cluster, and each advertised address must lead to one "
            "broker",
            () if found.is_bootstrap else ids_of(found.brokers),
        )


def judge_several_brokers(facts: Facts, shared: set[int]) -> Iterator[Finding]:
    """Return the finding about advertised addresses that lead to several brokers.

    Args:
        facts: the facts.
        shared: brokers with the address of another one, which have a finding.
    """
    brokers = [b for b in facts.brokers if leads_to_several(b) and b.id not in shared]
    if not brokers:
        return
    clauses = [f"{advertised([broker])}, where {_responders(broker)} respond" for broker in brokers]
    yield Finding(
        "error",
        "Advertised",
        "several_brokers",
        f"{listed(clauses)}: a load balancer or port forwarding chooses one of them for each "
        "connection, so requests reach brokers that do not lead the partition",
        "let each advertised address lead to one broker: correct the load balancer's targets or "
        "the port forwarding (in Kubernetes, the Service's selector), or give the broker an "
        "address of its own (advertised.listeners); a load balancer may stand in front of the "
        "bootstrap servers only",
        ids_of(brokers),
    )


def _names(facts: Facts) -> dict[str, _Name]:
    names: dict[str, _Name] = {}
    for server in facts.bootstrap:
        found = names.setdefault(server.name, _Name(is_bootstrap=True))
        found.clusters.update(dict.fromkeys(clusters_of(server)))
    for broker in facts.brokers:
        found = names.setdefault(broker.endpoint.name, _Name())
        found.brokers.append(broker)
        found.clusters.update(dict.fromkeys(clusters_of(broker.endpoint)))
    return {name: found for name, found in names.items() if len(found.clusters) > 1}


def _responders(broker: Broker) -> str:
    """Return the brokers that responded: ``brokers 1 and 3``."""
    addresses = broker.endpoint.addresses
    known = {address.node for address in addresses if address.node is not None}
    others = {node for address in addresses for node in address.other_nodes}
    names = [str(node) for node in sorted(known | {node for node in others if node is not None})]
    if None in others:
        return f"broker {listed(names)} and another one" if names else "several brokers"
    return f"brokers {' and '.join(names)}" if len(names) < 3 else f"brokers {listed(names)}"
