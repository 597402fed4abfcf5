"""The picture of a cluster that the demo prints: brokers with racks, leaders by partition."""

from __future__ import annotations

from ottla import Cluster


def topology_lines(cluster: Cluster, topic: str) -> list[str]:
    """Return the brokers and which of a topic's partitions each leads, as lines of text."""
    lines = []
    partitions = cluster.topics[topic].partitions
    for broker in cluster.brokers.values():
        leads = [str(p.index) for p in partitions.values() if p.leader == broker.id]
        rack = f", {broker.rack}" if broker.rack else ""
        led = f"leads partitions {', '.join(leads)}" if leads else "leads none of its partitions"
        lines.append(f"broker {broker.id} ({broker.host}:{broker.port}{rack}) {led}")
    return lines
