"""The picture of a cluster that the demo prints: brokers with racks, leaders by partition."""

from __future__ import annotations

from ottla import Cluster


def topology_lines(cluster: Cluster, topic: str) -> list[str]:
    """Return the brokers and a topic's leaders as lines of text."""
    lines = [f"cluster {cluster.cluster_id}, controller {cluster.controller}"]
    partitions = cluster.topics[topic].partitions
    for broker in cluster.brokers.values():
        leads = [str(p.index) for p in partitions.values() if p.leader == broker.id]
        rack = f" in {broker.rack}" if broker.rack else ""
        led = f"leads {topic}-[{','.join(leads)}]" if leads else "leads nothing of the topic"
        lines.append(f"  broker {broker.id} at {broker.host}:{broker.port}{rack} {led}")
    return lines
