"""Which records ``ottla consume`` reads: a range of each partition, from the argument ``-o``."""

from __future__ import annotations

import argparse
from contextlib import suppress
from datetime import datetime, timezone

from ottla import Client
from ottla.cli.parsing import parse_duration, parse_time
from ottla.doctor.text import counted
from ottla.errors import ConfigError, UnknownTopicError

Range = tuple[str, int, int, int | None]
"""A topic, a partition, the first offset and the one before which to end; None to follow."""

_Partitions = list[tuple[str, int]]
_Offsets = dict[tuple[str, int], int]


def ranges_of(client: Client, arguments: argparse.Namespace) -> list[Range]:
    """Return the range to read of each partition; without an end if the topic is followed."""
    partitions = _partitions(client, arguments.topic, arguments.partition)
    offsets = [_offset(text) for text in arguments.offset or ["beginning"]]
    starts = [(kind, number) for kind, number in offsets if kind != "until"]
    stops = [number for kind, number in offsets if kind == "until"]
    if len(starts) > 1 or len(stops) > 1:
        raise ConfigError("-o: give at most one start and one end (e@TIME)")
    start = _starts(client, partitions, *(starts or [("beginning", 0)])[0])
    end: dict[tuple[str, int], int | None] = dict.fromkeys(partitions)
    if stops:
        end.update(_at_time(client, partitions, stops[0]))
    elif arguments.exit:
        end.update(_listed(client, partitions, "latest"))
    return [(topic, index, start[topic, index], end[topic, index]) for topic, index in partitions]


def _partitions(client: Client, topic: str, wanted: list[int] | None) -> _Partitions:
    known = client.cluster([topic]).topics[topic].partitions
    for index in wanted or []:
        if index not in known:
            raise UnknownTopicError(
                f"partition {index} of topic {topic} does not exist: the topic has "
                f"{counted(len(known), 'partition')}"
            )
    return [(topic, index) for index in dict.fromkeys(wanted or sorted(known))]


def _offset(text: str) -> tuple[str, int]:
    """Parse an argument of -o into a kind and a number."""
    if text in {"beginning", "earliest"}:
        return "beginning", 0
    if text in {"end", "latest"}:
        return "end", 0
    kind = {"s@": "time", "e@": "until"}.get(text[:2])
    rest = text[2:] if kind else text
    try:
        number = int(rest)
    except ValueError:
        return kind or "time", _milliseconds(text, rest)
    return kind or ("tail" if number < 0 else "at"), number


def _milliseconds(text: str, when: str) -> int:
    """Parse a time, or how long ago."""
    with suppress(ConfigError):
        return round((datetime.now(timezone.utc) - parse_duration(when)).timestamp() * 1000)
    with suppress(ConfigError):
        return round(parse_time(when).timestamp() * 1000)
    raise ConfigError(
        f"-o {text}: expected beginning, end, N, -N, a time, a duration, s@TIME or e@TIME"
    )


def _starts(client: Client, partitions: _Partitions, kind: str, number: int) -> _Offsets:
    if kind == "at":
        return dict.fromkeys(partitions, number)
    if kind == "beginning":
        return _listed(client, partitions, "earliest")
    if kind == "end":
        return _listed(client, partitions, "latest")
    if kind == "time":
        return _at_time(client, partitions, number)
    first = _listed(client, partitions, "earliest")
    last = _listed(client, partitions, "latest")
    return {partition: max(first[partition], last[partition] + number) for partition in partitions}


def _listed(client: Client, partitions: _Partitions, spec: str | int) -> _Offsets:
    found = client.list_offsets(dict.fromkeys(partitions, spec))
    return {partition: found[partition].offset for partition in partitions}


def _at_time(client: Client, partitions: _Partitions, millis: int) -> _Offsets:
    """Return the first offsets at or after a time; end offsets where there is no such record."""
    found = _listed(client, partitions, millis)
    late = [partition for partition, offset in found.items() if offset < 0]
    return found | (_listed(client, late, "latest") if late else {})


def newest_ranges(client: Client, arguments: argparse.Namespace, count: int | None) -> list[Range]:
    """Return the last records of each partition, of which the newest are to be found.

    Args:
        client: the client.
        arguments: the command's arguments.
        count: how many of each; None for all.
    """
    partitions = _partitions(client, arguments.topic, arguments.partition)
    start = _starts(client, partitions, *(("beginning", 0) if count is None else ("tail", -count)))
    end = _listed(client, partitions, "latest")
    return [(topic, index, start[topic, index], end[topic, index]) for topic, index in partitions]
