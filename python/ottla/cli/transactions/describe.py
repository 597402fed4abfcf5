"""``ottla transactions describe``: the transactions of ids, or the open ones in a topic."""

from __future__ import annotations

import argparse
import time
from typing import TypedDict

from ottla import Admin, OpenTransaction, TransactionDescription
from ottla._internal.text import counted, duration
from ottla.admin.coordinator_topics import TRANSACTIONS, leader_errors
from ottla.cli.options import add_cluster, add_json
from ottla.cli.partial import print_errors, split
from ottla.cli.resources import admin, show
from ottla.cli.suggestions import with_transactional_ids
from ottla.cli.tables import Table
from ottla.errors import KafkaError


class DescribedTransaction(TypedDict):
    """The state of a transactional id.

    Attributes:
        transactional_id: the id.
        state: the state of its transaction, such as ``Ongoing``.
        producer_id: the id of its producer.
        producer_epoch: the epoch of its producer.
        timeout: the timeout of its transactions in seconds.
        start_time: when its transaction began, in ms since 1970; null if none is open.
        partitions: the partitions of its transaction.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout: float
    start_time: int | None
    partitions: list[tuple[str, int]]


class OpenTransactionDocument(TypedDict):
    """An open transaction in a partition.

    Attributes:
        topic: the topic.
        partition: the partition.
        start_offset: its first offset in the partition.
        producer_id: the id of its producer.
        producer_epoch: the epoch of its producer.
        last_timestamp: the time of its last record, in ms since 1970, if known.
        transaction: what its coordinator knows of it; null if no coordinator knows it.
        is_hanging: whether no coordinator will end it.
    """

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    last_timestamp: int | None
    transaction: DescribedTransaction | None
    is_hanging: bool


def add(subcommands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subcommands.add_parser(
        "describe",
        help="describe the transactions of ids, or the open ones in a topic",
        description=(
            "Describe the transactions of ids; or, with -t, the open transactions in a topic, "
            "which keep consumers with isolation.level=read_committed from reading further."
        ),
    )
    add_cluster(parser)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--id", action="append", help="a transactional id; may be repeated")
    chosen.add_argument("--topic", "-t", help="the topic")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Describe transactions; return the exit code."""
    with admin(arguments) as client:
        if arguments.topic is None:
            down = _without_coordinator(client, arguments.id)
            asked = [each for each in arguments.id if each not in down]
            results, failed = split(client.describe_transactions(asked, errors="return"))
            errors = with_transactional_ids(client, failed | down)
            described = list(results.values())
            show(arguments, [_plain(each) for each in described], [_table(described)])
        else:
            # A topic that does not exist has nothing to show.
            client.describe_topics([arguments.topic])
            found = client.list_open_transactions([arguments.topic], errors="return")
            errors = found.errors
            table = _open_table(found, least=bool(errors))
            show(arguments, [_plain_open(each) for each in found], [table])
    return print_errors(errors)


def _without_coordinator(client: Admin, ids: list[str]) -> dict[str, KafkaError]:
    """Return the errors of the ids whose coordinator cannot be found, however long one waits."""
    listed = client.list_topics(internal=True)
    if not any(each.name == TRANSACTIONS and each.without_leader for each in listed):
        return {}
    partitions = client.describe_topics([TRANSACTIONS])[TRANSACTIONS].partitions
    return leader_errors(TRANSACTIONS, partitions, ids)


def open_seconds(milliseconds: int | None) -> float | None:
    """Return the seconds since a time in milliseconds since 1970, by this machine's clock."""
    return None if milliseconds is None else max(0.0, time.time() - milliseconds / 1000)


def _plain(described: TransactionDescription) -> DescribedTransaction:
    return {
        "transactional_id": described.transactional_id,
        "state": described.state,
        "producer_id": described.producer_id,
        "producer_epoch": described.producer_epoch,
        "timeout": described.timeout,
        "start_time": described.start_time,
        "partitions": described.partitions,
    }


def _plain_open(found: OpenTransaction) -> OpenTransactionDocument:
    return {
        "topic": found.topic,
        "partition": found.partition,
        "start_offset": found.start_offset,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "last_timestamp": found.last_timestamp,
        "transaction": None if found.transaction is None else _plain(found.transaction),
        "is_hanging": found.is_hanging,
    }


def _table(described: list[TransactionDescription]) -> Table:
    rows = [
        [
            each.transactional_id,
            each.state,
            str(each.producer_id),
            str(each.producer_epoch),
            _time(open_seconds(each.start_time)),
            duration(each.timeout),
            ", ".join(f"{topic}-{partition}" for topic, partition in each.partitions),
        ]
        for each in described
    ]
    header = ["transactional id", "state", "producer id", "epoch", "open for", "timeout"]
    return Table("", [*header, "partitions"], rows)


def _open_table(found: list[OpenTransaction], *, least: bool) -> Table:
    rows = [
        [
            str(each.partition),
            str(each.start_offset),
            str(each.producer_id),
            each.transaction.transactional_id if each.transaction is not None else "unknown",
            _time(_open_for(each)),
            "hanging" if each.is_hanging else "",
        ]
        for each in found
    ]
    header = ["partition", "start offset", "producer id", "transactional id", "open for", ""]
    count = counted(len(found), "open transaction")
    lines = [f"at least {count}" if least else count]
    hanging = [each for each in found if each.is_hanging]
    if hanging:
        first = hanging[0]
        lines.append(
            f"hanging: {len(hanging)}; no coordinator will end them: ottla transactions abort "
            f"-t {first.topic} -p {first.partition} --start-offset {first.start_offset}"
        )
    return Table("", header, rows, lines, warn=bool(hanging))


def _open_for(found: OpenTransaction) -> float | None:
    """Return the seconds since the transaction began, or since its last record if it hangs."""
    known = found.transaction
    if known is not None and not found.is_hanging:
        return open_seconds(known.start_time)
    return open_seconds(found.last_timestamp)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
