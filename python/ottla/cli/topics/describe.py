"""``ottla topics describe``: the partitions of topics, their offsets and configuration."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from ottla import Admin
from ottla._internal.text import counted
from ottla._measurements.leaderless import no_leader
from ottla.admin import ConfigEntry, ConfigResource, PartitionDescription, TopicDescription
from ottla.admin.offsets import OffsetSpec
from ottla.cli.partial import print_errors, split
from ottla.cli.resources import Subcommands, add_subcommand, admin, joined, show, text
from ottla.cli.suggestions import with_topics
from ottla.cli.tables import Table
from ottla.errors import AuthorizationError, KafkaError


@dataclass(frozen=True)
class PartitionRow:
    """A partition, and the offsets of its first record and after its last one."""

    description: PartitionDescription
    earliest: int | None
    end: int | None


class DescribedPartition(TypedDict):
    """A partition.

    Attributes:
        partition: its number.
        leader: the broker that leads it; null if there is none.
        leader_epoch: its leader epoch.
        replicas: the brokers with a replica, the preferred leader first.
        isr: the brokers whose replicas are in sync.
        offline_replicas: the brokers whose replicas are offline.
        earliest: the offset of its first record; null if it could not be looked up.
        end: the offset after its last record; null if it could not be looked up.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]
    earliest: int | None
    end: int | None


class DescribedTopic(TypedDict):
    """A topic.

    Attributes:
        name: its name.
        topic_id: its id; null if the brokers have no ids of topics.
        is_internal: whether it is one of Kafka's own.
        configs: the configuration that is set for the topic itself; a secret is null.
        partitions: its partitions.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    configs: Mapping[str, str | None]
    partitions: list[DescribedPartition]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "describe",
        run,
        "describe topics: partitions, offsets, configuration",
        has_json=True,
    )
    parser.add_argument("names", nargs="+", metavar="TOPIC", help="the name of a topic")


def run(arguments: argparse.Namespace) -> int:
    """Describe topics; return the exit code."""
    with admin(arguments) as client:
        described, failed = split(client.describe_topics(arguments.names, errors="return"))
        errors = [with_topics(client, each) for each in failed.values()]
        rows = _rows(client, described, errors)
        configs = _configs(client, described, errors)
    value = [_plain(topic, rows[name], configs[name]) for name, topic in described.items()]
    tables = [_table(topic, rows[name], configs[name]) for name, topic in described.items()]
    show(arguments, value, tables)
    return print_errors(errors)


def _configs(
    client: Admin, names: Iterable[str], errors: list[KafkaError]
) -> dict[str, dict[str, str | None]]:
    """Return what is set for topics; add the errors of those that cannot be described."""
    resources = [ConfigResource("topic", name) for name in names]
    found, failed = split(client.describe_configs(resources, errors="return"))
    # A principal that may describe a topic need not be allowed to see its configuration.
    errors += [each for each in failed.values() if not isinstance(each, AuthorizationError)]
    return {each.name: _altered(found.get(each, {})) for each in resources}


def _rows(
    client: Admin, described: Mapping[str, TopicDescription], errors: list[KafkaError]
) -> dict[str, list[PartitionRow]]:
    led = [
        (name, each.partition)
        for name, topic in described.items()
        for each in topic.partitions
        if each.leader is not None
    ]
    offline = (
        (name, each.partition)
        for name, topic in described.items()
        for each in topic.partitions
        if each.leader is None
    )
    errors += (no_leader(*each) for each in offline)
    first = _offsets(client, led, "earliest", errors)
    # A leader that did not respond is not asked twice.
    end = _offsets(client, list(first), "latest", errors)
    return {
        name: [
            PartitionRow(each, first.get((name, each.partition)), end.get((name, each.partition)))
            for each in topic.partitions
        ]
        for name, topic in described.items()
    }


def _offsets(
    client: Admin,
    topic_partitions: Sequence[tuple[str, int]],
    spec: OffsetSpec,
    errors: list[KafkaError],
) -> dict[tuple[str, int], int | None]:
    """Return the offsets that could be looked up; add the errors of the others."""
    specs = dict.fromkeys(topic_partitions, spec)
    found, failed = split(client.list_offsets(specs, errors="return"))
    errors += failed.values()
    return {topic_partition: each.offset for topic_partition, each in found.items()}


def _altered(entries: Mapping[str, ConfigEntry]) -> dict[str, str | None]:
    """Return the configuration that is set for the topic itself."""
    return {
        name: entry.value
        for name, entry in entries.items()
        if entry.source == "DYNAMIC_TOPIC_CONFIG"
    }


def _plain(
    topic: TopicDescription, rows: list[PartitionRow], configs: Mapping[str, str | None]
) -> DescribedTopic:
    partitions: list[DescribedPartition] = [
        {
            "partition": each.partition,
            "leader": each.leader,
            "leader_epoch": each.leader_epoch,
            "replicas": each.replicas,
            "isr": each.isr,
            "offline_replicas": each.offline_replicas,
            "earliest": row.earliest,
            "end": row.end,
        }
        for row in rows
        for each in [row.description]
    ]
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "configs": configs,
        "partitions": partitions,
    }


def _table(
    topic: TopicDescription, rows: list[PartitionRow], configs: Mapping[str, str | None]
) -> Table:
    cells = [
        [
            str(each.partition),
            "none" if each.leader is None else str(each.leader),
            joined(each.replicas),
            joined(each.isr),
            text(row.earliest),
            text(row.end),
            _health(each),
        ]
        for row in rows
        for each in [row.description]
    ]
    title = f"{topic.name}: {counted(len(rows), 'partition')}"
    if topic.topic_id:
        title += f", id {topic.topic_id}"
    header = ["partition", "leader", "replicas", "in sync", "first", "end", ""]
    lines = [f"{name}={'(secret)' if value is None else value}" for name, value in configs.items()]
    return Table(title, header, cells, lines)


def _health(partition: PartitionDescription) -> str:
    if partition.leader is None:
        return "offline"
    missing = [each for each in partition.replicas if each not in partition.isr]
    return f"not in sync: {joined(missing)}" if missing else ""
