"""``ottla groups delete``: delete groups without members, and their offsets."""

from __future__ import annotations

import argparse

from ottla.cli.partial import each_alone, joined_plan, print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report
from ottla.cli.suggestions import with_groups


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "delete",
        run,
        "delete groups without members, with their offsets",
        confirmed=True,
    )
    parser.add_argument("names", nargs="+", metavar="GROUP", help="the id of a group")


def run(arguments: argparse.Namespace) -> int:
    """Delete groups; return the exit code."""
    with admin(arguments) as client:
        plans, failed = each_alone(
            arguments.names, lambda name: client.delete_groups([name], dry_run=True)
        )
        code = print_errors(with_groups(client, failed))
        if not plans or not confirm(arguments, joined_plan(plans.values())):
            return 1
        deleted = client.delete_groups(plans, errors="return")
    return max(code, report(deleted, "deleted group", noun="group_id"))
