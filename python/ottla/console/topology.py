"""The cluster's metadata as the Map page shows it: totals, brokers, and pages of topics.

Invariant: one pass over a snapshot computes what all pages share; the partitions of a topic become
JSON only when a page shows them, so that 10,000 topics cost little.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from ottla import Cluster, Partition, Topic
from ottla._internal.text import join

# The largest number of cells for a topic in a list. Its own page shows all partitions.
_CELLS = 120
# The largest number of rows in a response.
MAX_ROWS = 200

Order = Literal["name", "health", "partitions"]


@dataclass(frozen=True)
class TopicSummary:
    """A topic in the list."""

    name: str
    internal: bool
    partitions: int
    offline: int
    under_replicated: int


class Topology:
    """A snapshot of the cluster, and values computed from it.

    Attributes:
        cluster: the snapshot.
        version: a number that changes if a topic, a leader, or the replicas changed.
        topics: the topics, in alphabetical order.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.topics: list[TopicSummary] = []
        leads: Counter[int] = Counter()
        preferred: Counter[int] = Counter()
        replicas: Counter[int] = Counter()
        not_preferred = 0
        version = 0
        for name, topic in cluster.topics.items():
            offline = under_replicated = 0
            partitions = topic.partitions
            for partition in partitions.values():
                leader, hosts, isr = partition.leader, partition.replicas, partition.isr
                if leader is None:
                    offline += 1
                else:
                    leads[leader] += 1
                    not_preferred += leader != hosts[0] if hosts else False
                under_replicated += len(isr) < len(hosts)
                replicas.update(hosts)
                if hosts:
                    preferred[hosts[0]] += 1
                leadership = (leader, partition.leader_epoch, partition.error)
                replicas_now = (tuple(hosts), tuple(isr), tuple(partition.offline_replicas))
                version ^= hash((name, partition.index, leadership, replicas_now))
            self.topics.append(
                TopicSummary(name, topic.internal, len(partitions), offline, under_replicated)
            )
        self.version = version & 0xFFFF_FFFF
        self._totals = {
            "topics": len(self.topics),
            "partitions": sum(topic.partitions for topic in self.topics),
            "offline": sum(topic.offline for topic in self.topics),
            "under_replicated": sum(topic.under_replicated for topic in self.topics),
            "not_preferred": not_preferred,
        }
        self._brokers = _brokers(cluster, leads, preferred, replicas)

    def to_json(self) -> dict[str, Any]:
        """Return the totals and the brokers."""
        return {
            "cluster_id": self.cluster.cluster_id,
            "version": self.version,
            "brokers": self._brokers,
            **self._totals,
        }

    @property
    def broker_ids(self) -> list[int]:
        """The brokers in the metadata, and those that only replica lists name."""
        return [broker["id"] for broker in self._brokers]

    def broker(self, number: int) -> dict[str, Any] | None:
        """Return a broker, or None if nothing names it."""
        return next((each for each in self._brokers if each["id"] == number), None)

    def page(self, start: int, count: int, search: str, order: Order) -> dict[str, Any]:
        """Return some of the topics, with the cells of their partitions.

        Args:
            start: the number of the first row.
            count: the number of rows.
            search: a part of the names, in upper or lower case.
            order: the order of the rows; ``health`` begins with offline partitions.
        """
        wanted = search.casefold()
        found = [topic for topic in self.topics if wanted in topic.name.casefold()]
        if order == "health":
            found.sort(key=lambda topic: (-topic.offline, -topic.under_replicated, topic.name))
        elif order == "partitions":
            found.sort(key=lambda topic: (-topic.partitions, topic.name))
        rows = found[start : start + min(count, MAX_ROWS)]
        return {
            "version": self.version,
            "total": len(found),
            "start": start,
            "rows": [self._row(topic) for topic in rows],
        }

    def _row(self, summary: TopicSummary) -> dict[str, Any]:
        topic = self.cluster.topics[summary.name]
        cells = [
            [partition.index, partition.leader, _state(partition)]
            for partition in sorted(topic.partitions.values(), key=_index)[:_CELLS]
        ]
        return {
            "name": summary.name,
            "internal": summary.internal,
            "partitions": summary.partitions,
            "offline": summary.offline,
            "under_replicated": summary.under_replicated,
            "cells": cells,
        }

    def topic(self, name: str, start: int, count: int) -> dict[str, Any] | None:
        """Return some partitions of a topic with all details, or None if the topic is gone."""
        topic: Topic | None = self.cluster.topics.get(name)
        if topic is None:
            return None
        partitions = sorted(topic.partitions.values(), key=_index)
        return {
            "version": self.version,
            "name": topic.name,
            "id": topic.id,
            "internal": topic.internal,
            "total": len(partitions),
            "start": start,
            "rows": [_partition(each) for each in partitions[start : start + min(count, MAX_ROWS)]],
        }


def _brokers(
    cluster: Cluster, leads: Counter[int], preferred: Counter[int], replicas: Counter[int]
) -> list[dict[str, Any]]:
    """Return the brokers. A broker is missing if only replica lists name it."""
    known = cluster.brokers
    rows = []
    for number in sorted({*known, *replicas, *leads}):
        broker = known.get(number)
        rows.append(
            {
                "id": number,
                "address": None if broker is None else join(broker.host, broker.port),
                "rack": None if broker is None else broker.rack,
                "missing": broker is None,
                "leads": leads[number],
                "preferred": preferred[number],
                "replicas": replicas[number],
            }
        )
    return rows


def _index(partition: Partition) -> int:
    return partition.index


def _state(partition: Partition) -> str:
    """Return the partition's health: ``offline``, ``under`` (replicated), or ``ok``."""
    if partition.leader is None:
        return "offline"
    return "under" if len(partition.isr) < len(partition.replicas) else "ok"


def _partition(partition: Partition) -> dict[str, Any]:
    return {
        "index": partition.index,
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offline_replicas": partition.offline_replicas,
        "state": _state(partition),
        "error": partition.error,
    }
