"""``ottla topics reassign`` and ``reassignments``: move replicas to other brokers.

Invariant: the first replicas of a topic's partitions, which should lead, are spread over the
brokers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from ottla import Admin
from ottla._internal.text import counted
from ottla.admin import PartitionReassignment
from ottla.admin.destinations import TopicPartition
from ottla.cli.messages import say
from ottla.cli.offset_specs import partitions_of
from ottla.cli.parsing import add_partitions
from ottla.cli.resources import (
    Subcommands,
    add_subcommand,
    admin,
    confirm,
    joined,
    partition_name,
    report,
    show,
)
from ottla.cli.tables import Table
from ottla.cli.units import size
from ottla.errors import ConfigError

_POLL_SECONDS = 1.0


def add(subcommands: Subcommands) -> None:
    """Add the subcommands."""
    parser = add_subcommand(
        subcommands,
        "reassign",
        run,
        "move the replicas of partitions to brokers",
        details="The brokers copy in the background; `ottla topics reassignments` shows progress.",
        confirmed=True,
    )
    add_partitions(parser)
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument(
        "--to",
        metavar="IDS",
        help="the brokers to use, such as 1,2,3; for a single partition, the first one should lead",
    )
    to.add_argument("--cancel", action="store_true", help="cancel reassignments in progress")
    parser.add_argument(
        "-r", "--replication", type=int, help="number of replicas (the current number)"
    )
    _add_wait(parser)
    parser = add_subcommand(
        subcommands,
        "reassignments",
        run_list,
        "show reassignments in progress, and how much of them is copied",
        positional=True,
        has_json=True,
    )
    _add_wait(parser)


def _add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="wait until all is copied")


def run(arguments: argparse.Namespace) -> int:
    """Reassign partitions; return the exit code."""
    with admin(arguments, "the reassignment to be complete") as client:
        topic_partitions = partitions_of(client, arguments.partitions)
        targets = (
            dict.fromkeys(topic_partitions)
            if arguments.cancel
            else _targets(client, topic_partitions, arguments)
        )
        plan = client.alter_partition_reassignments(targets, dry_run=True)
        if not confirm(arguments, plan):
            return 1 if plan else 0
        altered = client.alter_partition_reassignments(targets, errors="return")
        done = "cancelled the reassignment of" if arguments.cancel else "reassigned"
        code = report(altered, done, partition_name)
        if arguments.wait:
            _wait(client, topic_partitions)
    return code


def _targets(
    client: Admin, topic_partitions: Sequence[TopicPartition], arguments: argparse.Namespace
) -> dict[TopicPartition, list[int]]:
    brokers = _brokers(arguments.to)
    described = client.describe_topics({topic for topic, _ in topic_partitions})
    replicas = {
        (topic, each.partition): len(each.replicas)
        for topic, description in described.items()
        for each in description.partitions
    }
    targets = {}
    for index, each in enumerate(topic_partitions):
        count = arguments.replication or replicas[each]
        if not 0 < count <= len(brokers):
            raise ConfigError(
                f"{partition_name(each)} would have {counted(count, 'replica')}, but --to names "
                f"{len(brokers)}: name more, or give --replication"
            )
        first = index % len(brokers)
        targets[each] = (brokers[first:] + brokers[:first])[:count]
    return targets


def _brokers(text: str) -> list[int]:
    try:
        brokers = [int(each) for each in text.split(",")]
    except ValueError:
        raise ConfigError(f"--to {text!r}: expected ids with commas between them") from None
    if len(set(brokers)) < len(brokers):
        raise ConfigError(f"--to {text!r} names a broker twice")
    return brokers


def _wait(client: Admin, topic_partitions: Sequence[TopicPartition] | None) -> None:
    shown = ""
    while found := client.list_partition_reassignments(topic_partitions):
        line = _summary(found)
        if line != shown:
            shown = line
            say(line)
        time.sleep(_POLL_SECONDS)


def run_list(arguments: argparse.Namespace) -> int:
    """Show reassignments; return the exit code."""
    with admin(arguments, "the reassignments to be complete") as client:
        if arguments.wait:
            _wait(client, None)
        found = client.list_partition_reassignments()
    show(arguments, found, [_table(found)])
    return 0


def _table(found: Sequence[PartitionReassignment]) -> Table:
    rows = [
        [
            f"{each.topic}-{each.partition}",
            joined(each.replicas),
            joined(each.adding_replicas),
            joined(each.removing_replicas),
            "" if each.progress is None else f"{each.progress:.0%}",
            "" if each.total_bytes is None else size(each.total_bytes),
        ]
        for each in found
    ]
    header = ["partition", "replicas", "adding", "removing", "copied", "of"]
    return Table("", header, rows, [_summary(found)])


def _summary(found: Sequence[PartitionReassignment]) -> str:
    text = counted(len(found), "reassignment")
    sizes = [
        (each.copied_bytes, each.total_bytes)
        for each in found
        if each.copied_bytes is not None and each.total_bytes is not None
    ]
    if not sizes:
        return text
    copied, total = (sum(column) for column in zip(*sizes, strict=True))
    return f"{text}, {size(min(copied, total))} of {size(total)} copied"
