"""``ottla topics elect-leaders``: elect the preferred replicas as leaders, or any live replica."""

from __future__ import annotations

import argparse

from ottla.cli.offset_specs import known_partitions
from ottla.cli.parsing import add_partitions
from ottla.cli.partial import print_errors
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    admin,
    confirm,
    partition_name,
    print_plan,
    report,
)
from ottla.errors import ConfigError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "elect-leaders",
        run,
        "let the preferred replicas lead their partitions",
        details="With --unclean, a partition without a leader elects any live replica, and loses "
        "the records that this replica lacks. That needs --yes.",
        confirmed=True,
    )
    add_partitions(parser, or_all=True)
    parser.add_argument("--unclean", action="store_true", help="elect replicas that lack records")
    add_dry_run(parser, "only show the partitions")


def run(arguments: argparse.Namespace) -> int:
    """Elect leaders; return the exit code."""
    if arguments.unclean and not arguments.partitions:
        raise ConfigError("--unclean: name the partitions")
    unclean = arguments.unclean
    with admin(arguments) as client:
        topic_partitions, code = None, 0
        if arguments.partitions:
            topic_partitions, errors = known_partitions(client, arguments.partitions)
            code = print_errors(errors)
            if not topic_partitions:
                return code
        plan = client.elect_leaders(topic_partitions, unclean=unclean, dry_run=True)
        if arguments.dry_run or not plan:
            print_plan(plan)
            return code
        if unclean and not confirm(arguments, plan):
            return 1
        elected = client.elect_leaders(topic_partitions, unclean=unclean, errors="return")
    changed = {each: result for each, result in elected.items() if result is not False}
    return max(code, report(changed, "elected the leader of", partition_name))
