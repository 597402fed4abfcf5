"""``ottla offsets``: the offsets of partitions: the first, the end, and those of a time."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ottla.cli.offset_specs import SPEC_HELP, offsets_at, partitions_of
from ottla.cli.options import add_cluster
from ottla.cli.resources import Subcommands, admin, show, text
from ottla.cli.tables import Table
from ottla.doctor.text import counted


@dataclass(frozen=True)
class PartitionOffsets:
    """The offsets of a partition.

    Attributes:
        topic: the topic.
        partition: the partition.
        earliest: the offset of the first record.
        end: the offset after the last one; with read_committed, the last stable offset.
        at: the offset that ``--at`` means, if it was given.
    """

    topic: str
    partition: int
    earliest: int
    end: int
    at: int | None


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "offsets",
        help="show the offsets of partitions",
        description="Show the first and the end offset of partitions, and the offset of a time.",
    )
    add_cluster(parser, positional=False)
    parser.add_argument(
        "partitions", nargs="+", metavar="TOPIC[:PARTITION]", help="a topic, or one partition of it"
    )
    parser.add_argument("--at", metavar="OFFSET", help=f"show this one too: {SPEC_HELP}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show offsets; return the exit code."""
    with admin(arguments) as client:
        places = partitions_of(client, arguments.partitions)
        earliest = offsets_at(client, places, "earliest")
        end = offsets_at(client, places, "latest")
        at = offsets_at(client, places, arguments.at) if arguments.at else {}
    found = [
        PartitionOffsets(*place, earliest[place], end[place], at.get(place)) for place in places
    ]
    show(arguments, found, [_table(found, arguments.at)])
    return 0


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
