"""``ottla topics delete``: delete topics with all their records."""

from __future__ import annotations

import argparse

from ottla.cli.partial import each_alone, joined_plan, print_errors
from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report
from ottla.cli.suggestions import with_topics
from ottla.errors import ConfigError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "delete", run, "delete topics with all their records", confirmed=True
    )
    parser.add_argument("names", nargs="*", metavar="TOPIC", help="the name of a topic")
    parser.add_argument(
        "--id", action="append", default=[], help="the id of a topic; may be repeated"
    )


def run(arguments: argparse.Namespace) -> int:
    """Delete topics; return the exit code."""
    if not arguments.names and not arguments.id:
        raise ConfigError("name the topics to delete, or give their ids with --id")
    with admin(arguments) as client:
        names, unknown = each_alone(
            arguments.names, lambda name: client.delete_topics([name], dry_run=True)
        )
        ids, unknown_ids = each_alone(
            arguments.id, lambda topic_id: client.delete_topics(ids=[topic_id], dry_run=True)
        )
        failed = (unknown | unknown_ids).values()
        code = print_errors(with_topics(client, each) for each in failed)
        plan = joined_plan([*names.values(), *ids.values()])
        if not plan or not confirm(arguments, plan):
            return 1
        deleted = client.delete_topics(names, ids=ids, errors="return")
    return max(code, report(deleted, "deleted topic", noun="topic"))
