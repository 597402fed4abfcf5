"""``ottla topology``: show the brokers, leaders and unhealthy partitions in the metadata."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import Any, TypedDict

from ottla import Admin, Cluster, Partition
from ottla._internal.text import counted, join
from ottla.cli.options import add_cluster, add_json, connect
from ottla.cli.output import print_document
from ottla.cli.suggestions import check_topics
from ottla.cli.tables import Table, print_tables


@dataclass(frozen=True)
class BrokerRow:
    """A broker and its load.

    Attributes:
        id: its id.
        address: host and port.
        rack: its rack.
        leader_count: the number of partitions that it leads.
        preferred_count: the number of partitions whose preferred (first) replica it has.
        replica_count: the number of replicas that it has.
    """

    id: int
    address: str
    rack: str | None
    leader_count: int
    preferred_count: int
    replica_count: int


@dataclass(frozen=True)
class PartitionRow:
    """A partition, and whether it is ``under_replicated`` or ``offline``."""

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]
    under_replicated: bool
    offline: bool


@dataclass(frozen=True)
class TopicRow:
    """A topic and its partitions."""

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: list[PartitionRow]

    @property
    def replication(self) -> int:
        """The largest number of replicas that a partition has."""
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True)
class Overview:
    """The data that the command shows; ``--json`` prints ``to_json()``."""

    cluster_id: str | None
    brokers: list[BrokerRow]
    topics: list[TopicRow]

    @property
    def partitions(self) -> list[tuple[str, PartitionRow]]:
        """All partitions, with the names of their topics."""
        return [(topic.name, partition) for topic in self.topics for partition in topic.partitions]

    def to_json(self) -> TopologyDocument:
        """Return everything, with the totals that the tables show."""
        partitions = [partition for _, partition in self.partitions]
        return {
            "cluster_id": self.cluster_id,
            "brokers": self.brokers,
            "topics": self.topics,
            "partition_count": len(partitions),
            "under_replicated_count": sum(p.under_replicated for p in partitions),
            "offline_count": sum(p.offline for p in partitions),
            "off_preferred_count": sum(off_preferred(p) for p in partitions),
        }


class TopologyDocument(TypedDict):
    """The document of the command.

    Attributes:
        cluster_id: the id of the cluster.
        brokers: the brokers.
        topics: the topics.
        partition_count: the number of their partitions.
        under_replicated_count: the number of partitions with a replica that is not in sync.
        offline_count: the number of partitions without a leader.
        off_preferred_count: the number of partitions that another than the first replica leads.
    """

    cluster_id: str | None
    brokers: list[BrokerRow]
    topics: list[TopicRow]
    partition_count: int
    under_replicated_count: int
    offline_count: int
    off_preferred_count: int


def off_preferred(partition: PartitionRow) -> bool:
    """Return whether a replica other than the preferred (first) replica is the leader."""
    return partition.leader is not None and partition.leader != partition.replicas[:1][0]


def overview(cluster: Cluster, names: list[str]) -> Overview:
    """Return the data of a cluster and some of its topics."""
    topics = []
    for name in names:
        topic = cluster.topics[name]
        rows = [_partition(partition) for partition in topic.partitions.values()]
        topics.append(TopicRow(name, topic.id, topic.internal, rows))
    partitions = [partition for topic in topics for partition in topic.partitions]
    leads = Counter(p.leader for p in partitions)
    preferred = Counter(p.replicas[0] for p in partitions if p.replicas)
    replicas = Counter(replica for p in partitions for replica in p.replicas)
    brokers = [
        BrokerRow(
            id=broker.id,
            address=join(broker.host, broker.port),
            rack=broker.rack,
            leader_count=leads[broker.id],
            preferred_count=preferred[broker.id],
            replica_count=replicas[broker.id],
        )
        for broker in cluster.brokers.values()
    ]
    return Overview(cluster.cluster_id, brokers, topics)


def _partition(partition: Partition) -> PartitionRow:
    return PartitionRow(
        partition=partition.index,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        offline_replicas=list(partition.offline_replicas),
        under_replicated=len(partition.isr) < len(partition.replicas),
        offline=partition.leader is None,
    )


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "topology",
        help="show brokers, racks, leaders, and unhealthy partitions",
        description="Show the cluster's metadata. With -t, show each partition of a topic.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", action="append", help="only this topic; may be repeated")
    add_json(parser, "print everything as JSON")
    parser.add_argument("--timeout", type=float, help="seconds to find the cluster (60)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fetch the metadata and print it."""
    with connect(arguments, arguments.timeout) as client:
        check_topics(Admin(client), arguments.topic or ())
        names = arguments.topic or client.topic_names(timeout=arguments.timeout)
        cluster = client.cluster(names, refresh=True, timeout=arguments.timeout)
        seen = overview(cluster, names)
    if arguments.json:
        print_document(seen.to_json())
    else:
        print_tables([*tables(seen, detailed=bool(arguments.topic))])
    return 0


def tables(seen: Overview, *, detailed: bool) -> list[Table]:
    """Return the tables: the brokers, then the topics or the partitions, then the totals."""
    partitions = seen.partitions
    brokers = Table(
        f"cluster {seen.cluster_id or 'without id'}",
        ["broker", "address", "rack", "leads", "preferred", "replicas"],
        [
            [
                str(broker.id),
                broker.address,
                broker.rack or "",
                str(broker.leader_count),
                str(broker.preferred_count),
                str(broker.replica_count),
            ]
            for broker in seen.brokers
        ],
    )
    shown = [_partition_table(topic) for topic in seen.topics] if detailed else [_topics(seen)]
    under = [f"{name}-{p.partition}" for name, p in partitions if p.under_replicated]
    offline = [f"{name}-{p.partition}" for name, p in partitions if p.offline]
    off = sum(off_preferred(p) for _, p in partitions)
    lines = [
        ", ".join(
            [
                counted(len(seen.brokers), "broker"),
                counted(len(seen.topics), "topic"),
                counted(len(partitions), "partition"),
            ]
        ),
        f"under-replicated: {len(under)}{_named(under)}",
        f"offline: {len(offline)}{_named(offline)}",
        f"not led by their preferred replica: {off}",
    ]
    return [brokers, *shown, Table("", [], [], lines, bad=bool(offline), warn=bool(under))]


def _topics(seen: Overview) -> Table:
    rows = [
        [
            topic.name,
            str(len(topic.partitions)),
            str(topic.replication),
            str(sum(p.under_replicated for p in topic.partitions) or ""),
            str(sum(p.offline for p in topic.partitions) or ""),
            "internal" if topic.is_internal else "",
        ]
        for topic in seen.topics
    ]
    header = ["topic", "partitions", "replication", "under-replicated", "offline", ""]
    return Table("topics", header, rows)


def _partition_table(topic: TopicRow) -> Table:
    rows = [
        [
            str(p.partition),
            "none" if p.leader is None else str(p.leader),
            str(p.leader_epoch),
            _ids(p.replicas),
            _ids(p.isr),
            _ids(p.offline_replicas),
            "offline" if p.offline else "under-replicated" if p.under_replicated else "",
        ]
        for p in topic.partitions
    ]
    header = ["partition", "leader", "epoch", "replicas", "isr", "offline", ""]
    return Table(f"topic {topic.name}", header, rows)


def _ids(ids: list[int]) -> str:
    return ",".join(map(str, ids))


def _named(names: list[str], limit: int = 10) -> str:
    more = ", …" if len(names) > limit else ""
    return f" ({', '.join(names[:limit])}{more})" if names else ""
