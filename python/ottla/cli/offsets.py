"""``ottla offsets``: the first and the end offsets of partitions, and the offsets of a time."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ottla._internal.text import counted
from ottla._measurements.leaderless import without_leader
from ottla.cli.offset_specs import SPEC_HELP, known_offsets_at, known_partitions
from ottla.cli.parsing import add_partitions
from ottla.cli.partial import print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, show, text
from ottla.cli.tables import Table


@dataclass(frozen=True)
class PartitionOffsets:
    """The offsets of a partition.

    Attributes:
        topic: the topic.
        partition: the partition.
        earliest: the offset of the first record.
        end: the offset after the last record; with read_committed, the last stable offset.
        at: the offset that ``--at`` means, if it was given.
    """

    topic: str
    partition: int
    earliest: int
    end: int
    at: int | None


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = add_subcommand(
        commands,
        "offsets",
        run,
        "show the offsets of partitions",
        details="Shows the first and the end offset of each partition, and the offset of a time.",
        has_json=True,
    )
    add_partitions(parser)
    parser.add_argument("--at", metavar="OFFSET", help=f"also show this offset: {SPEC_HELP}")


def run(arguments: argparse.Namespace) -> int:
    """Show offsets; return the exit code."""
    with admin(arguments) as client:
        topic_partitions, errors = known_partitions(client, arguments.partitions)
        leaderless = without_leader(client, topic_partitions)
        errors += leaderless.values()
        topic_partitions = [each for each in topic_partitions if each not in leaderless]
        looked_up: list[dict[tuple[str, int], int]] = []
        for spec in ["earliest", "latest", *([arguments.at] if arguments.at else [])]:
            offsets, failed = known_offsets_at(client, topic_partitions, spec)
            looked_up.append(offsets)
            errors += failed.values()
            # A leader that did not respond is not asked twice.
            topic_partitions = [each for each in topic_partitions if each not in failed]
        earliest, end = looked_up[:2]
        at = looked_up[2] if arguments.at else {}
    found = [
        PartitionOffsets(
            *topic_partition,
            earliest[topic_partition],
            end[topic_partition],
            at.get(topic_partition),
        )
        for topic_partition in topic_partitions
    ]
    # An empty table would look like an answer.
    show(arguments, found, [_table(found, arguments.at)] if found else [])
    return print_errors(errors)


def _table(found: list[PartitionOffsets], at: str | None) -> Table:
    rows = [
        [
            f"{each.topic}-{each.partition}",
            str(each.earliest),
            str(each.end),
            str(each.end - each.earliest),
            *([text(each.at)] if at else []),
        ]
        for each in found
    ]
    total = sum(each.end - each.earliest for each in found)
    header = ["partition", "first", "end", "offsets", *([f"at {at}"] if at else [])]
    return Table("", header, rows, [f"{counted(len(found), 'partition')}, {total} offsets"])
