"""Does each advertised address lead to its broker, and to that one only, from every client?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.doctor.checks.addresses import advertised, ids_of, kind_of
from ottla.doctor.checks.balancers import (
    judge_several_brokers,
    leads_to_several,
    shared_by_clusters,
)
from ottla.doctor.cluster_facts import Broker
from ottla.doctor.facts import Facts
from ottla.doctor.findings import Finding


def judge_identity(facts: Facts) -> Iterator[Finding]:
    """Return the addresses that several brokers share, or that lead to the wrong broker."""
    by_address: dict[str, list[Broker]] = {}
    for broker in facts.brokers:
        by_address.setdefault(broker.endpoint.name, []).append(broker)
    shared: set[int] = set()
    for name, brokers in by_address.items():
        local = kind_of(brokers[0].endpoint.host) == "loopback"
        # Brokers on different hosts may all advertise localhost: that is no load balancer.
        if len(brokers) < 2 or (local and brokers[0].endpoint.working is None):
            continue
        shared |= set(ids_of(brokers))
        ids = ", ".join(str(broker.id) for broker in brokers)
        yield Finding(
            "error",
            "Advertised",
            "one_address_for_all",
            f"brokers {ids} advertise the same address, {name}: a load balancer or a virtual IP in "
            "front of them connects clients to any broker instead of a partition's leader",
            "give each broker an advertised address of its own, with another name or another port "
            "(advertised.listeners); a load balancer may stand in front of the bootstrap servers "
            "only",
            ids_of(brokers),
        )
    yield from judge_several_brokers(facts, shared)
    clusters = shared_by_clusters(facts)
    for broker in facts.brokers:
        wrong = [
            address
            for address in broker.endpoint.addresses
            if any(step.reason == "another_broker" for step in address.steps)
        ]
        if wrong and broker.id not in shared and not leads_to_several(broker):
            node = wrong[0].node
            responder = "another broker" if node is None else f"broker {node}"
            yield Finding(
                "error",
                "Advertised",
                "another_broker",
                f"{advertised([broker])}, but {responder} responds there",
                "correct the broker's advertised.listeners, or the forwarding of that address: a "
                "load balancer or a virtual IP must not choose between brokers",
                (broker.id,),
            )
        if broker.endpoint.name not in clusters:
            yield from _judge_cluster(facts, broker)


def another_cluster(facts: Facts, broker: Broker) -> str | None:
    """Return the id of the cluster that responds at a broker's address, if it is another one."""
    expected = facts.cluster.cluster_id if facts.cluster is not None else None
    view = broker.endpoint.working.view if broker.endpoint.working is not None else None
    if view is None or None in {expected, view.cluster_id} or view.cluster_id == expected:
        return None
    return view.cluster_id


def _judge_cluster(facts: Facts, broker: Broker) -> Iterator[Finding]:
    if (found := another_cluster(facts, broker)) is not None:
        assert facts.cluster is not None
        yield Finding(
            "error",
            "Advertised",
            "another_cluster",
            f"{advertised([broker])}, but a broker of another cluster responds there "
            f"({found}, not {facts.cluster.cluster_id})",
            "correct the broker's advertised.listeners, or the forwarding of that address",
            (broker.id,),
        )


def judge_unspecified(facts: Facts) -> Iterator[Finding]:
    """Return the finding for brokers that work here because they are on this machine."""
    brokers = [
        broker
        for broker in facts.brokers
        if broker.endpoint.working is not None and kind_of(broker.endpoint.host) == "unspecified"
    ]
    if brokers:
        yield Finding(
            "error",
            "Advertised",
            "advertised_unspecified",
            f"{advertised(brokers)}: the unspecified address leads each client to its own "
            "machine, so only clients on the broker's machine can connect",
            "let each broker advertise an address that its clients can reach "
            "(advertised.listeners); only listeners may be 0.0.0.0",
            ids_of(brokers),
        )
