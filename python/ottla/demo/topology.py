"""Describes a cluster for the demo: brokers with racks, and the partitions that each leads."""

from __future__ import annotations

from ottla import Cluster


def topology_lines(cluster: Cluster, topic: str) -> list[str]:
    """Return a line of text for each broker, with the partitions of a topic that it leads."""
    lines = []
    partitions = cluster.topics[topic].partitions
    for broker in cluster.brokers.values():
        leads = [str(p.index) for p in partitions.values() if p.leader == broker.id]
        rack = f", {broker.rack}" if broker.rack else ""
        led = f"leads partitions {', '.join(leads)}" if leads else "leads none of its partitions"
        lines.append(f"broker {broker.id} ({broker.host}:{broker.port}{rack}) {led}")
    return lines
