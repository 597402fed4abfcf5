"""Where a read starts and ends, as the user said it: names, JSON, sentinels, and which option wins.

Called by ``options`` to parse and by ``planning`` to resolve. Invariant: a value of these types
has a valid shape; whether it fits the topics is ``planning``'s question. Nothing here does I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ottla.errors import ConfigError
from ottla.spark.protocols import TopicPartition

LATEST = -1
EARLIEST = -2

INT64_MAX = 2**63 - 1
_INT32_MAX = 2**31 - 1
_QUOTED = 200


@dataclass(frozen=True)
class Everywhere:
    """The same end of the log, EARLIEST or LATEST, for every partition."""

    sentinel: int


@dataclass(frozen=True)
class SpecificOffsets:
    """One offset (or sentinel) for each partition."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class GlobalTimestamp:
    """The first record at or after one moment, for every partition."""

    timestamp: int


@dataclass(frozen=True)
class SpecificTimestamps:
    """The first record at or after a moment of its own for each partition."""

    timestamps: Mapping[TopicPartition, int]


OffsetLimit = Everywhere | SpecificOffsets | GlobalTimestamp | SpecificTimestamps


def offset_limit(values: Mapping[str, str], side: str, default: OffsetLimit) -> OffsetLimit:
    """The limit that the options of one side (``starting`` or ``ending``) ask for.

    ``…Timestamp`` wins over ``…OffsetsByTimestamp``, which wins over ``…Offsets``; an option that
    lost is not even parsed. ``values`` has lower-case keys.
    """
    name = f"{side}Timestamp"
    if (value := values.get(name.lower())) is not None:
        return GlobalTimestamp(_timestamp(name, value))
    name = f"{side}OffsetsByTimestamp"
    if (value := values.get(name.lower())) is not None:
        return SpecificTimestamps(parse_timestamps(name, value))
    name = f"{side}Offsets"
    if (value := values.get(name.lower())) is None:
        return default
    match value.strip().lower():
        case "earliest":
            return Everywhere(EARLIEST)
        case "latest":
            return Everywhere(LATEST)
        case _:
            return SpecificOffsets(parse_offsets(name, value))


def check_batch_limits(start: OffsetLimit, end: OffsetLimit) -> None:
    """Refuse what a batch can't mean: a start at the latest, an end at the earliest or before."""
    if start == Everywhere(LATEST):
        raise ConfigError("startingOffsets can't be 'latest' in a batch query")
    if end == Everywhere(EARLIEST):
        raise ConfigError("endingOffsets can't be 'earliest' in a batch query")
    if isinstance(start, SpecificOffsets):
        _refuse_sentinel("startingOffsets", start.offsets, LATEST, "latest")
    if isinstance(end, SpecificOffsets):
        _refuse_sentinel("endingOffsets", end.offsets, EARLIEST, "earliest")
    if isinstance(start, SpecificOffsets) and isinstance(end, SpecificOffsets):
        _check_pair("offset", start.offsets, end.offsets)
    if isinstance(start, SpecificTimestamps) and isinstance(end, SpecificTimestamps):
        _check_pair("timestamp", start.timestamps, end.timestamps)


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """``{"topicA":{"0":23,"1":-1}}`` as a mapping; -1 stands for latest, -2 for earliest."""
    offsets = _parse_nested(option, text, 'such as {"topicA":{"0":23,"1":-1}}')
    for partition, offset in offsets.items():
        if offset < EARLIEST:
            raise ConfigError(
                f"{option}: {show(partition)} has offset {offset}; "
                "use an offset of 0 or more, -1 for latest or -2 for earliest"
            )
    return offsets


def parse_timestamps(option: str, text: str) -> dict[TopicPartition, int]:
    """``{"topicA":{"0":1700000000000}}`` as a mapping to milliseconds since 1970."""
    timestamps = _parse_nested(option, text, 'such as {"topicA":{"0":1700000000000}}')
    for partition, timestamp in timestamps.items():
        if timestamp < 0:
            raise ConfigError(
                f"{option}: {show(partition)} has timestamp {timestamp}; "
                "use milliseconds since 1970, 0 or more"
            )
    return timestamps


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """``{"topicA":[0,1]}`` as a set."""
    expected = 'such as {"topicA":[0,1],"topicB":[0]}'
    found: set[TopicPartition] = set()
    for topic, numbers in _parse_object(option, text, expected).items():
        if not isinstance(numbers, list):
            raise _malformed(option, text, expected)
        found.update((topic, _partition(option, text, expected, number)) for number in numbers)
    return frozenset(found)


def show(partition: TopicPartition) -> str:
    """Kafka's usual way to write a partition: ``orders-3``."""
    return f"{partition[0]}-{partition[1]}"


def show_all(partitions: Iterable[TopicPartition]) -> str:
    """The same for a set, in order and of bounded length."""
    shown = [show(partition) for partition in sorted(partitions)]
    if len(shown) > 20:
        shown[20:] = [f"… and {len(shown) - 20} more"]
    return "[" + ", ".join(shown) + "]"


def _timestamp(option: str, text: str) -> int:
    try:
        value = int(text.strip())
    except ValueError:
        value = -1
    if not 0 <= value <= INT64_MAX:
        raise ConfigError(
            f"{option}: expected milliseconds since 1970 as a whole number, got {_quote(text)}"
        )
    return value


def _parse_object(option: str, text: str, expected: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise _malformed(option, text, expected) from None
    if not isinstance(parsed, dict):
        raise _malformed(option, text, expected)
    return parsed


def _parse_nested(option: str, text: str, expected: str) -> dict[TopicPartition, int]:
    result: dict[TopicPartition, int] = {}
    for topic, per_partition in _parse_object(option, text, expected).items():
        if not isinstance(per_partition, dict):
            raise _malformed(option, text, expected)
        for number, value in per_partition.items():
            key = (topic, _partition(option, text, expected, number))
            result[key] = _whole(option, text, expected, value)
    return result


def _partition(option: str, text: str, expected: str, value: object) -> int:
    number = _whole(option, text, expected, value)
    if not 0 <= number <= _INT32_MAX:
        raise _malformed(option, text, expected)
    return number


def _whole(option: str, text: str, expected: str, value: object) -> int:
    # A quoted number is accepted, as Spark does; a fraction would be cut off without a word.
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise _malformed(option, text, expected) from None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > INT64_MAX:
        raise _malformed(option, text, expected)
    return value


def _malformed(option: str, text: str, expected: str) -> ConfigError:
    return ConfigError(f"{option}: expected a JSON object {expected}, got {_quote(text)}")


def _quote(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "…")


def _refuse_sentinel(
    option: str, offsets: Mapping[TopicPartition, int], sentinel: int, word: str
) -> None:
    for partition, offset in offsets.items():
        if offset == sentinel:
            raise ConfigError(
                f"{option} of {show(partition)} can't be {word} ({sentinel}) in a batch query"
            )


def _check_pair(
    kind: str, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> None:
    if start.keys() != end.keys():
        raise ConfigError(
            f"starting and ending {kind}s must name the same partitions; starting: "
            f"{show_all(start)}, ending: {show_all(end)}"
        )
    for partition, first in start.items():
        if 0 <= end[partition] < first:
            raise ConfigError(
                f"the starting {kind} {first} of {show(partition)} is greater than "
                f"its ending {kind} {end[partition]}"
            )
