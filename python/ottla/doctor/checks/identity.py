"""Does each advertised address lead to its broker, and to that one only, from every client?"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.doctor.checks.addresses import advertised, ids_of, kind_of
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
    for broker in facts.brokers:
        wrong = [
            address
            for address in broker.endpoint.addresses
            if any(step.reason == "another_broker" for step in address.steps)
        ]
        if wrong and broker.id not in shared:
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
        yield from _judge_cluster(facts, broker)


def _judge_cluster(facts: Facts, broker: Broker) -> Iterator[Finding]:
    expected = facts.cluster.cluster_id if facts.cluster is not None else None
    view = broker.endpoint.working.view if broker.endpoint.working is not None else None
    if view is not None and None not in {expected, view.cluster_id} and view.cluster_id != expected:
        yield Finding(
            "error",
            "Advertised",
            "another_cluster",
            f"{advertised([broker])}, but a broker of another cluster responds there "
            f"({view.cluster_id}, not {expected})",
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
