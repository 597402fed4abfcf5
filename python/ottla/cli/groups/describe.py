"""``ottla groups describe``: the members of groups, and the partitions assigned to each."""

from __future__ import annotations

import argparse

from ottla.admin import GroupDescription, MemberDescription
from ottla.admin.partitions import partitions_text
from ottla.cli.partial import print_errors, split
from ottla.cli.resources import Subcommands, add_subcommand, admin, show
from ottla.cli.suggestions import with_groups
from ottla.cli.tables import Table


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "describe", run, "describe groups and their members", has_json=True
    )
    parser.add_argument("names", nargs="+", metavar="GROUP", help="the id of a group")


def run(arguments: argparse.Namespace) -> int:
    """Describe groups; return the exit code."""
    with admin(arguments) as client:
        found, failed = split(client.describe_groups(arguments.names, errors="return"))
        errors = with_groups(client, failed)
    described = list(found.values())
    show(arguments, described, [_table(each) for each in described])
    return print_errors(errors)


def _table(group: GroupDescription) -> Table:
    rows = [
        [
            member.client_id,
            member.instance_id or "",
            member.host.lstrip("/"),
            "" if member.assignment is None else partitions_text(member.assignment),
            _change(member),
        ]
        for member in group.members
    ]
    kind = f"{group.type}, {group.state}"
    if group.assignor:
        kind += f", {group.assignor}"
    title = f"{group.group_id}: {kind}, coordinated by broker {group.coordinator}"
    header = ["client id", "instance", "host", "partitions", "" if _settled(group) else "next"]
    return Table(title, header, rows, [] if rows else ["no members"])


def _settled(group: GroupDescription) -> bool:
    return not any(map(_change, group.members))


def _change(member: MemberDescription) -> str:
    """Return the target assignment of a member, if it differs from the current one."""
    target = member.target_assignment
    if target is None or member.assignment is None or sorted(target) == sorted(member.assignment):
        return ""
    return partitions_text(target) or "none"
