"""``ottla groups offsets`` and ``delete-offsets``: the committed offsets of groups."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla.admin import CommittedOffset
from ottla.cli.parsing import add_partitions, parse_partition
from ottla.cli.partial import print_errors, split
from ottla.cli.resources import (
    Subcommands,
    add_subcommand,
    admin,
    confirm,
    partition_name,
    report,
    show,
    text,
)
from ottla.cli.suggestions import suggest_group, with_groups
from ottla.cli.tables import Table
from ottla.errors import ConfigError


class GroupOffset(TypedDict):
    """A committed offset.

    Attributes:
        topic: the topic.
        partition: the partition.
        offset: the offset from which the group reads on.
        leader_epoch: the leader epoch of the record before it, if it was committed.
        metadata: a text that was committed with it.
    """

    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str | None


class GroupOffsets(TypedDict):
    """The committed offsets of a group.

    Attributes:
        group_id: its id.
        offsets: its offsets.
    """

    group_id: str
    offsets: list[GroupOffset]


def add(subcommands: Subcommands) -> None:
    """Add the subcommands."""
    parser = add_subcommand(
        subcommands, "offsets", run, "list the committed offsets of groups", has_json=True
    )
    parser.add_argument("names", nargs="+", metavar="GROUP", help="the id of a group")
    parser = add_subcommand(
        subcommands,
        "delete-offsets",
        run_delete,
        "delete committed offsets of topics that no member reads",
        confirmed=True,
    )
    parser.add_argument("name", metavar="GROUP", help="the id of the group")
    add_partitions(parser)


def run(arguments: argparse.Namespace) -> int:
    """List offsets; return the exit code."""
    with admin(arguments) as client:
        listed, failed = split(client.list_group_offsets(arguments.names, errors="return"))
        # A coordinator has no offsets of a group that it does not know, and no error.
        empty = [group for group, offsets in listed.items() if not offsets]
        unknown = split(client.describe_groups(empty, errors="return"))[1] if empty else {}
        errors = with_groups(client, failed | unknown)
    listed = {group: offsets for group, offsets in listed.items() if group not in unknown}
    value: list[GroupOffsets] = [
        {
            "group_id": group,
            "offsets": [
                {
                    "topic": topic,
                    "partition": partition,
                    "offset": each.offset,
                    "leader_epoch": each.leader_epoch,
                    "metadata": each.metadata,
                }
                for (topic, partition), each in sorted(offsets.items())
            ],
        }
        for group, offsets in listed.items()
    ]
    show(arguments, value, [_table(group, offsets) for group, offsets in listed.items()])
    return print_errors(errors)


def _table(group: str, offsets: dict[tuple[str, int], CommittedOffset]) -> Table:
    rows = [
        [partition_name(where), str(each.offset), text(each.leader_epoch), each.metadata or ""]
        for where, each in sorted(offsets.items())
    ]
    header = ["partition", "offset", "leader epoch", "metadata"]
    return Table(group, header, rows, [] if rows else ["no committed offsets"])


def run_delete(arguments: argparse.Namespace) -> int:
    """Delete offsets; return the exit code."""
    given = [parse_partition(each) for each in arguments.partitions]
    topics = {each for each in given if isinstance(each, str)}
    with admin(arguments) as client, suggest_group(client, arguments.name):
        committed = client.list_group_offsets([arguments.name])[arguments.name]
        # A deleted topic may still have committed offsets.
        chosen = [each for each in sorted(committed) if each in given or each[0] in topics]
        if not chosen:
            raise ConfigError(
                f"group {arguments.name} has committed none of these: nothing changed"
            )
        plan = client.delete_group_offsets(arguments.name, chosen, dry_run=True)
        if not confirm(arguments, plan):
            return 1
        deleted = client.delete_group_offsets(arguments.name, chosen, errors="return")
    return report(deleted, "deleted the offset of", partition_name)
