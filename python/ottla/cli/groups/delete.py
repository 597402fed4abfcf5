"""``ottla groups delete``: delete groups without members, and their offsets."""

from __future__ import annotations

import argparse

from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report


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
        if not confirm(arguments, client.delete_groups(arguments.names, dry_run=True)):
            return 1
        deleted = client.delete_groups(arguments.names, errors="return")
    return report(deleted, "deleted group", noun="group_id")
