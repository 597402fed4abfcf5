"""``ottla groups remove-members``: remove members from a group, which then rebalances."""

from __future__ import annotations

import argparse

from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report
from ottla.cli.suggestions import suggest_group
from ottla.errors import ConfigError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "remove-members",
        run,
        "remove members from a group",
        details="A member that is still running joins again.",
        confirmed=True,
    )
    parser.add_argument("name", metavar="GROUP", help="the id of the group")
    parser.add_argument("--member", action="append", default=[], help="the id of a member")
    parser.add_argument(
        "--instance", action="append", default=[], help="the group.instance.id of a static member"
    )
    parser.add_argument("--all", action="store_true", help="all members")
    parser.add_argument("--reason", help="a reason, which the coordinator logs")


def run(arguments: argparse.Namespace) -> int:
    """Remove members; return the exit code."""
    if arguments.all == bool(arguments.member or arguments.instance):
        raise ConfigError("name the members with --member or --instance, or give --all")
    with admin(arguments) as client, suggest_group(client, arguments.name):
        plan = client.remove_group_members(
            arguments.name,
            member_ids=arguments.member,
            instance_ids=arguments.instance,
            dry_run=True,
        )
        if not confirm(arguments, plan):
            return 1 if plan else 0
        removed = client.remove_group_members(
            arguments.name,
            member_ids=arguments.member,
            instance_ids=arguments.instance,
            reason=arguments.reason,
            errors="return",
        )
    return report(removed, "removed member", noun="member_id")
