"""``ottla groups list``: the groups, their types and states."""

from __future__ import annotations

import argparse

from ottla._internal.text import counted
from ottla.admin import GroupListing
from ottla.cli.parsing import add_match, matching
from ottla.cli.partial import print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, show, text
from ottla.cli.tables import Table


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "list", run, "list the groups", positional=True, has_json=True
    )
    parser.add_argument(
        "--state", action="append", help="only groups in this state, such as Stable or Empty"
    )
    parser.add_argument(
        "--type", action="append", help="only Classic, Consumer, Share or Streams groups"
    )
    add_match(parser, "groups")


def run(arguments: argparse.Namespace) -> int:
    """List the groups; return the exit code."""
    is_match = matching(arguments)
    with admin(arguments) as client:
        listed = client.list_groups(
            states=arguments.state or (), types=arguments.type or (), errors="return"
        )
    found = [each for each in listed if is_match(each.group_id)]
    show(arguments, found, [_table(found, least=bool(listed.errors))])
    return print_errors(listed.errors)


def _table(found: list[GroupListing], *, least: bool) -> Table:
    rows = [
        [each.group_id, text(each.type), text(each.state), str(each.coordinator)] for each in found
    ]
    header = ["group", "type", "state", "coordinator"]
    count = counted(len(found), "group")
    return Table("", header, rows, [f"at least {count}" if least else count])
