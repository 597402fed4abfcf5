"""``ottla transactions abort``: abort a transaction that its producer does not end.

Invariant: nothing changes without ``--yes``; without it, the command shows what it would abort.
"""

from __future__ import annotations

import argparse

from ottla import Admin
from ottla._internal.text import duration
from ottla.cli.options import add_cluster, add_json
from ottla.cli.resources import admin, confirm, partition_name, report
from ottla.cli.transactions.describe import open_seconds
from ottla.errors import ConfigError, StateError


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subcommands.add_parser(
        "abort",
        help="abort the open transaction of an id, or a hanging transaction in a partition",
        description=(
            "Abort the open transaction of a transactional id, which also fences its producer; "
            "or, with -t, -p and --start-offset, a hanging transaction that no coordinator knows. "
            "Without --yes, only show what would be aborted."
        ),
    )
    add_cluster(parser)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--id", help="the transactional id")
    chosen.add_argument("--topic", "-t", help="the topic of a hanging transaction")
    parser.add_argument("--partition", "-p", type=int, help="its partition")
    parser.add_argument(
        "--start-offset", type=int, metavar="OFFSET", help="its first offset in the partition"
    )
    parser.add_argument("--yes", action="store_true", help="abort it")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Abort a transaction; return the exit code: 1 if ``--yes`` is missing."""
    if arguments.topic is not None and None in (arguments.partition, arguments.start_offset):
        raise ConfigError("-t needs -p and --start-offset; `ottla transactions describe` has them")
    if arguments.id is not None and not (arguments.partition is arguments.start_offset is None):
        raise ConfigError("-p and --start-offset belong to -t: --id aborts the whole transaction")
    with admin(arguments) as client:
        if arguments.id is not None:
            return _abort_id(client, arguments)
        return _abort_hanging(client, arguments)


def _abort_id(client: Admin, arguments: argparse.Namespace) -> int:
    name = arguments.id
    described = client.describe_transactions([name])[name]
    if described.state != "Ongoing":
        raise StateError(
            f"transactional id {name} has no open transaction: its state is "
            f"{described.state}, and nothing was changed"
        )
    if not confirm(arguments, client.fence_producers([name], dry_run=True)):
        return 1
    client.fence_producers([name])
    age = duration(open_seconds(described.start_time) or 0.0)
    return report(
        {name: None},
        "aborted the transaction of",
        of=f", open for {age}, and fenced its producer",
        noun="transactional_id",
    )


def _abort_hanging(client: Admin, arguments: argparse.Namespace) -> int:
    topic, partition, start_offset = arguments.topic, arguments.partition, arguments.start_offset
    plan = client.abort_hanging_transaction(topic, partition, start_offset, dry_run=True)
    if not confirm(arguments, plan):
        return 1
    client.abort_hanging_transaction(topic, partition, start_offset)
    return report(
        {(topic, partition): None},
        "aborted the hanging transaction in",
        partition_name,
        of=f" at offset {start_offset}",
    )
