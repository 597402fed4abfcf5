"""``ottla topics delete``: delete topics with all their records."""

from __future__ import annotations

import argparse

from ottla.cli.resources import Subcommands, add_subcommand, admin, confirm, report
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
        plan = client.delete_topics(arguments.names, ids=arguments.id, dry_run=True)
        if not confirm(arguments, plan):
            return 1
        deleted = client.delete_topics(arguments.names, ids=arguments.id, errors="return")
    return report(deleted, "deleted topic", noun="topic")
