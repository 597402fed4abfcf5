"""``ottla groups remove-members``: remove members from a group, which then rebalances."""

from __future__ import annotations

import argparse

from ottla.admin import MemberDescription, Plan, PlannedChange
from ottla.cli.groups.describe import ranges
from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report
from ottla.errors import ConfigError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "remove-members",
        run,
        "remove members from a group",
        details="A member that still runs joins again.",
        confirmed=True,
    )
    parser.add_argument("name", metavar="GROUP", help="the id of the group")
    parser.add_argument("--member", action="append", default=[], help="the id of a member")
    parser.add_argument(
        "--instance", action="append", default=[], help="the group.instance.id of a static member"
    )
    parser.add_argument("--all", action="store_true", help="all members")
    parser.add_argument("--reason", help="written to the log of the coordinator")


def run(arguments: argparse.Namespace) -> int:
    """Remove members; return the exit code."""
    if arguments.all == bool(arguments.member or arguments.instance):
        raise ConfigError("name the members with --member or --instance, or give --all")
    with admin(arguments) as client:
        group = client.describe_groups([arguments.name])[arguments.name]
        chosen = [each for each in group.members if _is_chosen(each, arguments)]
        missing = {*arguments.member, *arguments.instance} - {
            name for each in chosen for name in (each.member_id, each.instance_id)
        }
        if missing:
            raise ConfigError(f"group {arguments.name} has no member {', '.join(sorted(missing))}")
        changes = [
            PlannedChange("remove", f"member {_name(each)}", ranges(each.assignment or ()))
            for each in chosen
        ]
        if not confirm(arguments, Plan(changes)):
            return 1 if changes else 0
        removed = client.remove_group_members(
            arguments.name,
            member_ids=[each.member_id for each in chosen if each.instance_id is None],
            instance_ids=[each.instance_id for each in chosen if each.instance_id is not None],
            reason=arguments.reason,
            errors="return",
        )
    return report(removed, "removed member")


def _is_chosen(member: MemberDescription, arguments: argparse.Namespace) -> bool:
    return (
        arguments.all
        or member.member_id in arguments.member
        or member.instance_id in arguments.instance
    )


def _name(member: MemberDescription) -> str:
    return f"{member.instance_id or member.member_id} ({member.client_id} at {member.host})"
