"""``ottla topics delete-records``: delete the records before an offset."""

from __future__ import annotations

import argparse

from ottla.cli.offset_specs import SPEC_HELP, all_offsets_at, known_partitions
from ottla.cli.parsing import add_partitions
from ottla.cli.partial import print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, partition_name, report


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "delete-records", run, "delete the records before an offset", confirmed=True
    )
    add_partitions(parser)
    parser.add_argument("--before", required=True, metavar="OFFSET", help=SPEC_HELP)


def run(arguments: argparse.Namespace) -> int:
    """Delete records; return the exit code."""
    with admin(arguments) as client:
        topic_partitions, errors = known_partitions(client, arguments.partitions)
        offsets, failed = all_offsets_at(client, topic_partitions, ["earliest", arguments.before])
        code = print_errors([*errors, *failed])
        if not offsets:
            return code
        # A partition that begins at a later offset has nothing to delete or report.
        wanted = {where: before for where, (first, before) in offsets.items() if before > first}
        plan = client.delete_records(wanted, dry_run=True)
        if not confirm(arguments, plan):
            return 1 if plan else code
        deleted = client.delete_records(wanted, errors="return")
    done = report(
        deleted, "deleted records:", lambda each: f"{partition_name(each)} before {deleted[each]}"
    )
    return max(code, done)
