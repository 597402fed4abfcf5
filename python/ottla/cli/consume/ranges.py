"""The records that ``ottla consume`` reads: a range of each partition, from the argument ``-o``."""

from __future__ import annotations

import argparse
from contextlib import suppress
from datetime import datetime

from ottla import Client
from ottla._internal.text import counted
from ottla.cli.consume.tail import tail_starts
from ottla.cli.consume.topics import topics_of
from ottla.cli.messages import say
from ottla.cli.parsing import parse_ago, parse_time
from ottla.errors import ConfigError, UnknownTopicError

Range = tuple[str, int, int, int | None]
"""A topic, a partition, the first offset, and the offset before which to end (None: follow)."""

# The number of partitions that a message names.
_SHOWN = 5

_Partitions = list[tuple[str, int]]
_Offsets = dict[tuple[str, int], int]


def ranges_of(client: Client, arguments: argparse.Namespace) -> list[Range]:
    """Return the range to read of each partition. It has no end if the topic is followed."""
    partitions = _partitions(client, arguments)
    offsets = [_offset(text) for text in arguments.offset or ["beginning"]]
    starts = [(kind, position) for kind, position in offsets if kind != "until"]
    stops = [time for kind, time in offsets if kind == "until"]
    if len(starts) > 1 or len(stops) > 1:
        raise ConfigError("-o: give at most one start and one end (e@TIME)")
    kind, position = (starts or [("beginning", 0)])[0]
    start = _starts(client, partitions, kind, position)
    if kind == "at":
        _check_reached(client, partitions, start)
    end: dict[tuple[str, int], int | None] = dict.fromkeys(partitions)
    if stops:
        end.update(_at_time(client, partitions, stops[0]))
    elif arguments.exit:
        end.update(_listed(client, partitions, "latest"))
    return [(topic, index, start[topic, index], end[topic, index]) for topic, index in partitions]


def _partitions(client: Client, arguments: argparse.Namespace) -> _Partitions:
    names = topics_of(client, arguments)
    topics = client.cluster(names).topics
    wanted: list[int] | None = arguments.partition
    for name in names:
        known = topics[name].partitions
        for index in wanted or []:
            if index not in known:
                raise UnknownTopicError(
                    f"partition {index} of topic {name} does not exist: the topic has "
                    f"{counted(len(known), 'partition')}"
                )
    return [
        (name, index)
        for name in names
        for index in dict.fromkeys(wanted or sorted(topics[name].partitions))
    ]


def _offset(text: str) -> tuple[str, int | datetime]:
    """Parse an argument of -o into a kind, and a number or a time."""
    if text in {"beginning", "earliest"}:
        return "beginning", 0
    if text in {"end", "latest"}:
        return "end", 0
    kind = {"s@": "time", "e@": "until"}.get(text[:2])
    rest = text[2:] if kind else text
    try:
        number = int(rest)
    except ValueError:
        return kind or "time", _time(text, rest)
    if kind is not None:
        # The number is milliseconds. No record is older than 1970.
        return kind, max(0, number)
    return "tail" if number < 0 else "at", number


def _time(text: str, when: str) -> datetime:
    """Parse a time, or how long ago."""
    for parse in (parse_ago, parse_time):
        with suppress(ConfigError):
            return parse(when)
    raise ConfigError(
        f"-o {text}: expected beginning, end, N, -N, a time, a duration, s@TIME or e@TIME"
    )


def _starts(
    client: Client, partitions: _Partitions, kind: str, position: int | datetime
) -> _Offsets:
    if kind == "time" or isinstance(position, datetime):
        return _at_time(client, partitions, position)
    if kind == "at":
        return dict.fromkeys(partitions, position)
    if kind == "beginning":
        return _listed(client, partitions, "earliest")
    if kind == "end":
        return _listed(client, partitions, "latest")
    first = _listed(client, partitions, "earliest")
    return tail_starts(client, first, _listed(client, partitions, "latest"), -position)


def _check_reached(client: Client, partitions: _Partitions, start: _Offsets) -> None:
    """Check that an offset is not beyond the end of all partitions, and name those that it is.

    Raises:
        ConfigError: it is beyond the end of each.
    """
    ends = _listed(client, partitions, "latest")
    beyond = [each for each in partitions if start[each] > ends[each]]
    if not beyond:
        return
    offset = start[beyond[0]]
    shown = ", ".join(
        f"{topic}-{index} at {ends[topic, index]}" for topic, index in beyond[:_SHOWN]
    )
    more = f" and {len(beyond) - _SHOWN} more" if len(beyond) > _SHOWN else ""
    if len(beyond) == len(partitions):
        raise ConfigError(f"-o {offset} is beyond the end of each partition: {shown}{more}")
    say(f"-o {offset} is beyond the end of {shown}{more}", "warning")


def _listed(client: Client, partitions: _Partitions, spec: str | int | datetime) -> _Offsets:
    found = client.list_offsets(dict.fromkeys(partitions, spec))
    offsets = {partition: found[partition].offset for partition in partitions}
    return {partition: -1 if offset is None else offset for partition, offset in offsets.items()}


def _at_time(client: Client, partitions: _Partitions, time: int | datetime) -> _Offsets:
    """Return the first offsets at or after a time, or end offsets if there is no such record."""
    found = _listed(client, partitions, time)
    late = [partition for partition, offset in found.items() if offset < 0]
    return found | (_listed(client, late, "latest") if late else {})


def newest_ranges(client: Client, arguments: argparse.Namespace, count: int | None) -> list[Range]:
    """Return the ranges of the last records in each partition, as candidates for the newest.

    Args:
        client: the client.
        arguments: the command's arguments.
        count: the number of records in each partition; None for all.
    """
    partitions = _partitions(client, arguments)
    start = _listed(client, partitions, "earliest")
    end = _listed(client, partitions, "latest")
    if count is not None:
        start = tail_starts(client, start, end, count)
    return [(topic, index, start[topic, index], end[topic, index]) for topic, index in partitions]
