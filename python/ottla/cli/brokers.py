"""``ottla brokers``: the brokers, how evenly they are loaded, and how full their disks are."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from ottla import Admin
from ottla._internal.text import counted, join
from ottla.admin import BrokerDescription, LogDirDescription
from ottla.admin.lag import is_deleted
from ottla.cli.partial import broker_down, print_errors, split
from ottla.cli.resources import Subcommands, add_subcommand, admin, show, text
from ottla.cli.tables import Table
from ottla.cli.units import size
from ottla.errors import KafkaError

# Kafka's recommendation for the replicas of one broker.
MAX_REPLICAS = 4_000
_FULL = 0.85


@dataclass(frozen=True)
class BrokerLoad:
    """A broker and its load.

    Attributes:
        broker: the broker.
        leader_count: the number of partitions that the broker leads.
        preferred_count: the number of partitions whose preferred (first) replica is on the broker.
        replica_count: the number of replicas on the broker.
        log_dirs: its log directories; empty if they are unknown.
        error: the reason why the log directories are unknown.
    """

    broker: BrokerDescription
    leader_count: int
    preferred_count: int
    replica_count: int
    log_dirs: list[LogDirDescription]
    error: str | None


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    add_subcommand(
        commands,
        "brokers",
        run,
        "show brokers, the balance of leaders, and disks",
        details="Shows how many partitions each broker leads and hosts, and the disk of each log "
        "directory.",
        positional=True,
        has_json=True,
    )


def run(arguments: argparse.Namespace) -> int:
    """Show the brokers; return the exit code."""
    with admin(arguments) as client:
        loads, errors = _loads(client)
    show(
        arguments,
        [_document(each) for each in loads],
        [_broker_table(loads), _log_dir_table(loads)],
    )
    return print_errors(errors)


class HostedReplica(TypedDict):
    """A replica in a log directory.

    Attributes:
        topic: the topic.
        partition: the partition.
        size_bytes: the size of its log.
        offset_lag: the number of offsets that it lacks.
        is_future: whether it is being moved to this directory.
    """

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDocument(TypedDict):
    """A log directory.

    Attributes:
        path: its path.
        error: why it cannot be used.
        total_bytes: the size of its disk; null before Kafka 3.3.
        usable_bytes: the free space of its disk; null before Kafka 3.3.
        partitions: the replicas in it.
    """

    path: str
    error: str | None
    total_bytes: int | None
    usable_bytes: int | None
    partitions: list[HostedReplica]


class BrokerDocument(TypedDict):
    """A broker and its load.

    Attributes:
        id: its id.
        host: its host.
        port: its port.
        rack: its rack.
        is_fenced: whether the controller has fenced it; null before Kafka 4.0.
        leader_count: the number of partitions that it leads.
        preferred_count: the number of partitions whose preferred (first) replica it has.
        replica_count: the number of replicas that it has.
        log_dirs: its log directories; empty if they are unknown.
        error: why they are unknown.
    """

    id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool | None
    leader_count: int
    preferred_count: int
    replica_count: int
    log_dirs: list[LogDirDocument]
    error: str | None


def _document(load: BrokerLoad) -> BrokerDocument:
    broker = load.broker
    return {
        "id": broker.id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "is_fenced": broker.is_fenced,
        "leader_count": load.leader_count,
        "preferred_count": load.preferred_count,
        "replica_count": load.replica_count,
        "log_dirs": [_log_dir_document(each) for each in load.log_dirs],
        "error": load.error,
    }


def _log_dir_document(log_dir: LogDirDescription) -> LogDirDocument:
    return {
        "path": log_dir.path,
        "error": log_dir.error,
        "total_bytes": log_dir.total_bytes,
        "usable_bytes": log_dir.usable_bytes,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "size_bytes": each.size,
                "offset_lag": each.offset_lag,
                "is_future": each.is_future,
            }
            for each in log_dir.replicas
        ],
    }


def _loads(client: Admin) -> tuple[list[BrokerLoad], list[KafkaError]]:
    """Return the brokers, and the errors of what is not known of them."""
    described = client.describe_cluster()
    found = client.describe_log_dirs([each.id for each in described.brokers], errors="return")
    topics = client.list_topics(internal=True)
    leads: Counter[int | None] = Counter()
    preferred: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    names = [each.name for each in topics]
    topics_found, failed = split(client.describe_topics(names, errors="return"))
    # A topic that was deleted meanwhile has no replicas.
    errors = [*topics.errors, *(each for each in failed.values() if not is_deleted(each))]
    for topic in topics_found.values():
        for partition in topic.partitions:
            leads[partition.leader] += 1
            preferred.update(partition.replicas[:1])
            replicas.update(partition.replicas)
    loads = []
    for broker in described.brokers:
        log_dirs = found[broker.id]
        errors += [log_dirs] if isinstance(log_dirs, KafkaError) else []
        is_known = not isinstance(log_dirs, KafkaError)
        loads.append(
            BrokerLoad(
                broker,
                leads[broker.id],
                preferred[broker.id],
                replicas[broker.id],
                log_dirs if not isinstance(log_dirs, KafkaError) else [],
                None if is_known else str(log_dirs),
            )
        )
    down = sorted(set(replicas) - {each.id for each in described.brokers})
    errors += [broker_down(each, f"it has {counted(replicas[each], 'replica')}") for each in down]
    return loads, errors


def _broker_table(loads: Sequence[BrokerLoad]) -> Table:
    rows = [
        [
            str(load.broker.id),
            join(load.broker.host, load.broker.port),
            text(load.broker.rack),
            str(load.leader_count),
            str(load.preferred_count),
            str(load.replica_count),
            f"{load.replica_count / MAX_REPLICAS:.1%}",
        ]
        for load in loads
    ]
    header = ["broker", "address", "rack", "leads", "preferred", "replicas", f"of {MAX_REPLICAS}"]
    lines = [f"{counted(len(loads), 'broker')}, {_balance(loads)}"]
    crowded = [str(load.broker.id) for load in loads if load.replica_count > MAX_REPLICAS]
    if crowded:
        lines.append(f"more than {MAX_REPLICAS} replicas: {', '.join(crowded)}")
    return Table("", header, rows, lines, warn=bool(crowded))


def _balance(loads: Sequence[BrokerLoad]) -> str:
    leads = [load.leader_count for load in loads] or [0]
    least, most = min(leads), max(leads)
    each = f"{least} leader{'s' * (least != 1)}" if least == most else f"{least} to {most} leaders"
    text = f"{each} each"
    if any(load.leader_count != load.preferred_count for load in loads):
        text += "; leaders are not where they should be: ottla topics elect-leaders"
    return text


def _log_dir_table(loads: Sequence[BrokerLoad]) -> Table:
    rows, lines = [], []
    for load in loads:
        for log_dir in load.log_dirs:
            rows.append([str(load.broker.id), log_dir.path, *_usage(log_dir)])
            if (used := _used(log_dir)) is not None and used > _FULL:
                lines.append(f"broker {load.broker.id}: {log_dir.path} is {used:.0%} full")
    header = ["broker", "log directory", "replicas", "size", "disk free", "of", ""]
    return Table("", header, rows, lines, warn=bool(lines))


def _usage(log_dir: LogDirDescription) -> list[str]:
    return [
        str(len(log_dir.replicas)),
        size(log_dir.replica_bytes),
        "" if log_dir.usable_bytes is None else size(log_dir.usable_bytes),
        "" if log_dir.total_bytes is None else size(log_dir.total_bytes),
        log_dir.error or "",
    ]


def _used(log_dir: LogDirDescription) -> float | None:
    if not log_dir.total_bytes or log_dir.usable_bytes is None:
        return None
    return 1 - log_dir.usable_bytes / log_dir.total_bytes
