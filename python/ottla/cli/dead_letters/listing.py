"""``ottla dead-letters list``: why records failed, how many and when; and the records."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla import Admin
from ottla._internal.text import counted
from ottla.cli.dead_letters.letters import Letter
from ottla.cli.dead_letters.selection import ISOLATION, Selection, add_selection
from ottla.cli.options import connect
from ottla.cli.resources import Subcommands, add_subcommand, partition_name, show, text
from ottla.cli.tables import Table
from ottla.cli.units import iso_time

# Reasons that differ in every letter must not fill the memory.
_MAX_GROUPS = 1000
_OTHERS = "others"


class ListedLetter(TypedDict):
    """A dead letter.

    Attributes:
        partition: its partition in the topic of dead letters.
        offset: its offset there.
        timestamp: its timestamp, in milliseconds since 1970; null if it has none.
        origin_partition: the partition that the record was first read from.
        origin_offset: its offset there.
        message: the text of the exception.
        is_replay: whether the record had been replayed before it failed.
    """

    partition: int
    offset: int
    timestamp: int | None
    origin_partition: int | None
    origin_offset: int | None
    message: str | None
    is_replay: bool


class LetterGroup(TypedDict):
    """Dead letters with the same reason.

    Attributes:
        topic: the topic of dead letters.
        origin: the topic that the records were first read from; null if no header says it.
        reason: the class of the exception, or its text with numbers as ``#``.
        group_id: the group or the connector that failed.
        count: the number of letters.
        first_timestamp: the timestamp of the earliest one, in milliseconds since 1970; null if
            none has one.
        last_timestamp: the timestamp of the latest one.
        letters: the first letters, with ``--records``.
    """

    topic: str
    origin: str | None
    reason: str
    group_id: str | None
    count: int
    first_timestamp: int | None
    last_timestamp: int | None
    letters: list[ListedLetter]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "list",
        run,
        "list the reasons of dead letters, with counts and times",
        details="Reads headers of ottla, Kafka's brokers, Kafka Connect and Spring Kafka.",
    )
    add_selection(parser)
    parser.add_argument(
        "--records",
        type=int,
        nargs="?",
        const=10,
        default=0,
        metavar="N",
        help="also show the first N letters of each reason (10)",
    )


def run(arguments: argparse.Namespace) -> int:
    """List letters; return the exit code."""
    groups: dict[tuple[str, str | None, str, str | None], LetterGroup] = {}
    with connect(arguments, defaults=ISOLATION) as client:
        selection = Selection(client, Admin(client), arguments)
        for letter in selection.read():
            key = (letter.topic, letter.origin, letter.reason, letter.group)
            if key not in groups and len(groups) >= _MAX_GROUPS:
                key = (letter.topic, None, _OTHERS, None)
            group = groups.get(key)
            if group is None:
                group = groups[key] = _group(key)
            group["count"] += 1
            if (at := letter.timestamp) is not None:
                first, last = group["first_timestamp"], group["last_timestamp"]
                group["first_timestamp"] = at if first is None else min(first, at)
                group["last_timestamp"] = at if last is None else max(last, at)
            if len(group["letters"]) < arguments.records:
                group["letters"].append(_listed(letter))
    found = sorted(groups.values(), key=lambda each: -each["count"])
    show(arguments, found, _tables(found))
    return selection.code


def _group(key: tuple[str, str | None, str, str | None]) -> LetterGroup:
    topic, origin, reason, group = key
    return {
        "topic": topic,
        "origin": origin,
        "reason": reason,
        "group_id": group,
        "count": 0,
        "first_timestamp": None,
        "last_timestamp": None,
        "letters": [],
    }


def _listed(letter: Letter) -> ListedLetter:
    return {
        "partition": letter.partition,
        "offset": letter.offset,
        "timestamp": letter.timestamp,
        "origin_partition": letter.origin_partition,
        "origin_offset": letter.origin_offset,
        "message": letter.message,
        "is_replay": letter.is_replay,
    }


def _tables(groups: list[LetterGroup]) -> list[Table]:
    rows = [
        [
            each["topic"],
            text(each["origin"]),
            each["reason"],
            text(each["group_id"]),
            str(each["count"]),
            _time(each["first_timestamp"]),
            _time(each["last_timestamp"]),
        ]
        for each in groups
    ]
    header = ["topic", "origin", "reason", "group", "letters", "first", "last"]
    total = counted(sum(each["count"] for each in groups), "dead letter")
    tables = [Table("", header, rows, [total])]
    for each in groups:
        if each["letters"]:
            shown = [
                [
                    partition_name((each["topic"], one["partition"])),
                    str(one["offset"]),
                    _time(one["timestamp"]),
                    text(one["origin_partition"]),
                    text(one["origin_offset"]),
                    text(one["message"]),
                ]
                for one in each["letters"]
            ]
            header = ["partition", "offset", "time", "origin partition", "origin offset", "message"]
            tables.append(Table(each["reason"], header, shown))
    return tables


def _time(milliseconds: int | None) -> str:
    return "" if milliseconds is None else iso_time(milliseconds)
