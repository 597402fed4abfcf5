"""Where a read starts and ends, as the user specified it: parsing, precedence and validation.

``read_options`` parses these types, ``planning.offset_resolver`` resolves them. Nothing here does
I/O. Invariant: a value is well-formed; ``planning`` checks whether it fits the topics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ottla._internal.planning.offset_range import INT64_MAX
from ottla.errors import ConfigError
from ottla.spark.protocols import TopicPartition

LATEST = -1
EARLIEST = -2

_INT32_MAX = 2**31 - 1
_QUOTED = 200


@dataclass(frozen=True)
class GlobalOffset:
    """EARLIEST or LATEST, for every partition."""

    sentinel: int


@dataclass(frozen=True)
class SpecificOffsets:
    """An offset, EARLIEST or LATEST for each partition."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class GlobalTimestamp:
    """The first record at or after a timestamp, the same for every partition."""

    timestamp: int


@dataclass(frozen=True)
class SpecificTimestamps:
    """The first record at or after a timestamp, one for each partition."""

    timestamps: Mapping[TopicPartition, int]


OffsetRangeLimit = GlobalOffset | SpecificOffsets | GlobalTimestamp | SpecificTimestamps


def parse_offset_range_limit(
    values: Mapping[str, str], side: str, default: OffsetRangeLimit
) -> OffsetRangeLimit:
    """Parse the options of one side, ``starting`` or ``ending``; ``values`` has lower-case names.

    ``…Timestamp`` takes precedence over ``…OffsetsByTimestamp``, and that over ``…Offsets``. An
    option that is overridden is not parsed.
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
            return GlobalOffset(EARLIEST)
        case "latest":
            return GlobalOffset(LATEST)
        case _:
            return SpecificOffsets(parse_offsets(name, value))


def check_batch_limits(start: OffsetRangeLimit, end: OffsetRangeLimit) -> None:
    """Reject limits that no batch can have: a start at latest, an end at earliest or before it."""
    if start == GlobalOffset(LATEST):
        raise ConfigError("startingOffsets can't be 'latest' in a batch query")
    if end == GlobalOffset(EARLIEST):
        raise ConfigError("endingOffsets can't be 'earliest' in a batch query")
    if isinstance(start, SpecificOffsets):
        _check_no_sentinel("startingOffsets", start.offsets, LATEST, "latest")
    if isinstance(end, SpecificOffsets):
        _check_no_sentinel("endingOffsets", end.offsets, EARLIEST, "earliest")
    if isinstance(start, SpecificOffsets) and isinstance(end, SpecificOffsets):
        _check_ordered("offset", start.offsets, end.offsets)
    if isinstance(start, SpecificTimestamps) and isinstance(end, SpecificTimestamps):
        _check_ordered("timestamp", start.timestamps, end.timestamps)


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """Parse ``{"topicA":{"0":23,"1":-1}}``, where -1 is latest and -2 is earliest."""
    offsets = _parse_nested(option, text, 'such as {"topicA":{"0":23,"1":-1}}')
    for partition, offset in offsets.items():
        if offset < EARLIEST:
            raise ConfigError(
                f"{option}: {format_partition(partition)} has offset {offset}; "
                "use an offset of 0 or more, -1 for latest or -2 for earliest"
            )
    return offsets


def parse_timestamps(option: str, text: str) -> dict[TopicPartition, int]:
    """Parse ``{"topicA":{"0":1700000000000}}``, in milliseconds since 1970."""
    timestamps = _parse_nested(option, text, 'such as {"topicA":{"0":1700000000000}}')
    for partition, timestamp in timestamps.items():
        if timestamp < 0:
            raise ConfigError(
                f"{option}: {format_partition(partition)} has timestamp {timestamp}; "
                "use milliseconds since 1970, 0 or more"
            )
    return timestamps


def parse_partitions(option: str, text: str) -> frozenset[TopicPartition]:
    """Parse ``{"topicA":[0,1]}``."""
    expected = 'such as {"topicA":[0,1],"topicB":[0]}'
    found: set[TopicPartition] = set()
    for topic, numbers in _parse_object(option, text, expected).items():
        if not isinstance(numbers, list):
            raise _malformed(option, text, expected)
        found.update(
            (topic, _partition_number(option, text, expected, number)) for number in numbers
        )
    return frozenset(found)


def format_partition(partition: TopicPartition) -> str:
    """Return a partition as Kafka writes it: ``orders-3``."""
    return f"{partition[0]}-{partition[1]}"


def format_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Return at most 20 partitions of a set, sorted, and the number of the others."""
    texts = [format_partition(partition) for partition in sorted(partitions)]
    if len(texts) > 20:
        texts[20:] = [f"… and {len(texts) - 20} more"]
    return "[" + ", ".join(texts) + "]"


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
    for topic, by_partition in _parse_object(option, text, expected).items():
        if not isinstance(by_partition, dict):
            raise _malformed(option, text, expected)
        for number, value in by_partition.items():
            key = (topic, _partition_number(option, text, expected, number))
            result[key] = _integer(option, text, expected, value)
    return result


def _partition_number(option: str, text: str, expected: str, value: object) -> int:
    number = _integer(option, text, expected, value)
    if not 0 <= number <= _INT32_MAX:
        raise _malformed(option, text, expected)
    return number


def _integer(option: str, text: str, expected: str, value: object) -> int:
    # A quoted number is accepted, as by Spark; a fraction is rejected, not truncated.
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


def _check_no_sentinel(
    option: str, offsets: Mapping[TopicPartition, int], sentinel: int, name: str
) -> None:
    for partition, offset in offsets.items():
        if offset == sentinel:
            raise ConfigError(
                f"{option} of {format_partition(partition)} can't be {name} ({sentinel}) "
                "in a batch query"
            )


def _check_ordered(
    kind: str, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> None:
    if start.keys() != end.keys():
        raise ConfigError(
            f"starting and ending {kind}s must name the same partitions; starting: "
            f"{format_partitions(start)}, ending: {format_partitions(end)}"
        )
    for partition, first in start.items():
        if 0 <= end[partition] < first:
            raise ConfigError(
                f"the starting {kind} {first} of {format_partition(partition)} is greater than "
                f"its ending {kind} {end[partition]}"
            )
