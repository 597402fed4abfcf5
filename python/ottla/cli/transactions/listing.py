"""``ottla transactions list``: the transactional ids and their states."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla import TransactionListing
from ottla._internal.text import counted
from ottla.cli.options import add_cluster, add_json
from ottla.cli.parsing import seconds
from ottla.cli.partial import print_errors
from ottla.cli.resources import admin, show
from ottla.cli.tables import Table


class ListedTransaction(TypedDict):
    """A transactional id.

    Attributes:
        transactional_id: the id.
        state: the state of its transaction, such as ``Ongoing``.
        producer_id: the id of its producer.
        coordinator: the id of the broker that coordinates it.
    """

    transactional_id: str
    state: str
    producer_id: int
    coordinator: int


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subcommands.add_parser(
        "list",
        help="list the transactional ids and their states",
        description="List the transactional ids that this principal may describe.",
    )
    add_cluster(parser)
    parser.add_argument(
        "--state",
        action="append",
        metavar="STATE",
        help="only ids in this state, such as Ongoing; may be repeated",
    )
    parser.add_argument(
        "--longer-than",
        type=seconds(0),
        metavar="SECONDS",
        help="only transactions that have been open for longer (Kafka 3.8 and newer)",
    )
    parser.add_argument(
        "--match", metavar="REGEX", help="only ids that this regular expression matches completely"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the transactional ids; return the exit code."""
    with admin(arguments) as client:
        listed = client.list_transactions(
            states=arguments.state,
            running_longer_than=arguments.longer_than,
            id_pattern=arguments.match,
            errors="return",
        )
    table = _table(listed, least=bool(listed.errors))
    show(arguments, [_plain(listing) for listing in listed], [table])
    return print_errors(listed.errors)


def _plain(listing: TransactionListing) -> ListedTransaction:
    return {
        "transactional_id": listing.transactional_id,
        "state": listing.state,
        "producer_id": listing.producer_id,
        "coordinator": listing.coordinator,
    }


def _table(listed: list[TransactionListing], *, least: bool) -> Table:
    rows = [
        [
            listing.transactional_id,
            listing.state,
            str(listing.producer_id),
            str(listing.coordinator),
        ]
        for listing in listed
    ]
    header = ["transactional id", "state", "producer id", "coordinator"]
    count = counted(len(listed), "transactional id")
    return Table("", header, rows, [f"at least {count}" if least else count])
