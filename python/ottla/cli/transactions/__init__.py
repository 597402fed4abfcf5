"""``ottla transactions list | describe | abort``: the transactions of a cluster (KIP-664).

Each subcommand has a module with ``add`` (its arguments) and ``run``.
"""

from __future__ import annotations

import argparse

from ottla.cli.transactions import abort, describe, listing


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its subcommands."""
    parser = commands.add_parser(
        "transactions",
        help="list, describe and abort transactions",
        description="List, describe and abort transactions (Kafka 3.0 and newer).",
    )
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for subcommand in (listing, describe, abort):
        subcommand.add(subcommands)
