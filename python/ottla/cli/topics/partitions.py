"""``ottla topics add-partitions``: raise the number of partitions of topics."""

from __future__ import annotations

import argparse

from ottla.cli.partial import each_alone, joined_plan, print_errors, split
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    admin,
    print_plan,
    report,
)
from ottla.cli.suggestions import with_topics


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "add-partitions",
        run,
        "raise the number of partitions of topics",
        details="Afterwards, keys are assigned to different partitions than before.",
    )
    parser.add_argument("names", nargs="+", metavar="TOPIC", help="the name of a topic")
    parser.add_argument(
        "--total", type=int, required=True, help="the new number of partitions of each topic"
    )
    add_dry_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Add partitions; return the exit code."""
    counts = dict.fromkeys(arguments.names, arguments.total)
    with admin(arguments) as client:
        if arguments.dry_run:
            plans, unknown = each_alone(
                counts,
                lambda name: client.create_partitions({name: arguments.total}, dry_run=True),
            )
            print_plan(joined_plan(plans.values()))
            return print_errors(with_topics(client, each) for each in unknown.values())
        changed, failed = split(client.create_partitions(counts, errors="return"))
        errors = [with_topics(client, each) for each in failed.values()]
    report(changed, "added partitions: topic", of=f" has {arguments.total}", noun="topic")
    return print_errors(errors)
