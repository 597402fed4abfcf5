"""``ottla topics delete-records``: delete the records before an offset."""

from __future__ import annotations

import argparse

from ottla.cli.offset_specs import SPEC_HELP, known_partitions, offsets_at
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
        code = print_errors(errors)
        first = offsets_at(client, topic_partitions, "earliest")
        before = offsets_at(client, topic_partitions, arguments.before)
        # A partition that begins at a later offset has nothing to delete or report.
        wanted = {each: before[each] for each in topic_partitions if before[each] > first[each]}
        plan = client.delete_records(wanted, dry_run=True)
        if not confirm(arguments, plan):
            return 1 if plan else code
        deleted = client.delete_records(wanted, errors="return")
    done = report(
        deleted, "deleted records:", lambda each: f"{partition_name(each)} before {deleted[each]}"
    )
    return max(code, done)
