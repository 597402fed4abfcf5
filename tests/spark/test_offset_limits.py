"""Offset range limits: JSON, precedence of options, and limits that a batch rejects."""

from __future__ import annotations

import json

import pytest

from ottla.errors import ConfigError
from ottla.spark.options.offset_limits import (
    EARLIEST,
    LATEST,
    GlobalOffset,
    GlobalTimestamp,
    OffsetRangeLimit,
    SpecificOffsets,
    SpecificTimestamps,
    check_batch_limits,
    format_partitions,
    parse_offset_range_limit,
    parse_offsets,
    parse_timestamps,
)
from ottla.spark.planning.checkpoint import offsets_from_json, offsets_to_json

DEFAULT = GlobalOffset(EARLIEST)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, DEFAULT),
        ({"startingoffsets": " Earliest "}, GlobalOffset(EARLIEST)),
        ({"startingoffsets": "LATEST"}, GlobalOffset(LATEST)),
        ({"startingoffsets": '{"a":{"0":7}}'}, SpecificOffsets({("a", 0): 7})),
        ({"startingtimestamp": " 123 "}, GlobalTimestamp(123)),
        ({"startingoffsetsbytimestamp": '{"a":{"0":7}}'}, SpecificTimestamps({("a", 0): 7})),
    ],
)
def test_each_kind_of_limit(values: dict[str, str], expected: OffsetRangeLimit) -> None:
    assert parse_offset_range_limit(values, "starting", DEFAULT) == expected


def test_precedence_and_overridden_options_are_not_parsed() -> None:
    values = {
        "endingtimestamp": "5",
        "endingoffsetsbytimestamp": '{"a":{"0":6}}',
        "endingoffsets": "nonsense",
    }
    assert parse_offset_range_limit(values, "ending", DEFAULT) == GlobalTimestamp(5)
    del values["endingtimestamp"]
    assert parse_offset_range_limit(values, "ending", DEFAULT) == SpecificTimestamps({("a", 0): 6})
    del values["endingoffsetsbytimestamp"]
    with pytest.raises(ConfigError, match="endingOffsets"):
        parse_offset_range_limit(values, "ending", DEFAULT)


def test_offsets_with_sentinels_and_quoted_numbers() -> None:
    text = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2,"10":"42"}}'
    assert parse_offsets("startingOffsets", text) == {
        ("topicA", 0): 23,
        ("topicA", 1): LATEST,
        ("topicB", 0): EARLIEST,
        ("topicB", 10): 42,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        '{"a":[0]}',
        '{"a":{"x":0}}',
        '{"a":{"-1":0}}',
        '{"a":{"2147483648":0}}',
        '{"a":{"0":1.5}}',
        '{"a":{"0":true}}',
        '{"a":{"0":null}}',
        '{"a":{"0":9223372036854775808}}',
        "[" * 100_000,
    ],
)
def test_malformed_json_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r'startingOffsets: expected .*"topicA":\{"0":23'
    ) as caught:
        parse_offsets("startingOffsets", text)
    assert len(str(caught.value)) < 400


def test_other_negative_offsets_and_timestamps_are_rejected() -> None:
    with pytest.raises(ConfigError, match="a-0 has offset -3"):
        parse_offsets("startingOffsets", '{"a":{"0":-3}}')
    with pytest.raises(ConfigError, match="a-0 has timestamp -1"):
        parse_timestamps("startingOffsetsByTimestamp", '{"a":{"0":-1}}')


@pytest.mark.parametrize("text", ["", "soon", "1.5", "-1", "9223372036854775808", "9" * 5000])
def test_wrong_global_timestamp(text: str) -> None:
    with pytest.raises(ConfigError, match="startingTimestamp: expected milliseconds"):
        parse_offset_range_limit({"startingtimestamp": text}, "starting", DEFAULT)


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (GlobalOffset(LATEST), GlobalOffset(LATEST), "startingOffsets can't be 'latest'"),
        (GlobalOffset(EARLIEST), GlobalOffset(EARLIEST), "endingOffsets can't be 'earliest'"),
        (SpecificOffsets({("a", 3): -1}), GlobalOffset(LATEST), "of a-3 can't be latest"),
        (GlobalOffset(EARLIEST), SpecificOffsets({("a", 3): -2}), "of a-3 can't be earliest"),
        (
            SpecificOffsets({("a", 0): 1}),
            SpecificOffsets({("a", 1): 1}),
            r"same partitions; starting: \[a-0\], ending: \[a-1\]",
        ),
        (
            SpecificOffsets({("a", 0): 9}),
            SpecificOffsets({("a", 0): 8}),
            "starting offset 9 of a-0 is greater than its ending offset 8",
        ),
        (
            SpecificTimestamps({("a", 0): 9}),
            SpecificTimestamps({("a", 0): 8}),
            "starting timestamp 9 of a-0 is greater than its ending timestamp 8",
        ),
        (
            SpecificTimestamps({("a", 0): 9}),
            SpecificTimestamps({("b", 0): 10}),
            "same partitions",
        ),
    ],
)
def test_limits_that_a_batch_rejects(
    start: OffsetRangeLimit, end: OffsetRangeLimit, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_batch_limits(start, end)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (SpecificOffsets({("a", 0): 9}), SpecificOffsets({("a", 0): 9})),
        (SpecificOffsets({("a", 0): 9}), SpecificOffsets({("a", 0): -1})),
        (SpecificOffsets({("a", 0): -2}), SpecificOffsets({("a", 0): 0})),
        (GlobalTimestamp(9), GlobalTimestamp(8)),
        (SpecificOffsets({("a", 0): 9}), SpecificTimestamps({("b", 0): 8})),
    ],
)
def test_limits_that_are_checked_at_planning(
    start: OffsetRangeLimit, end: OffsetRangeLimit
) -> None:
    check_batch_limits(start, end)


def test_json_is_deterministic_and_round_trips() -> None:
    offsets = {("b", 10): 5, ("b", 9): 4, ("a", 0): -1}
    text = json.dumps(offsets_to_json(offsets), separators=(",", ":"))
    assert text == '{"a":{"0":-1},"b":{"9":4,"10":5}}'
    assert offsets_from_json(json.loads(text)) == offsets
    assert parse_offsets("x", text) == offsets


def test_long_lists_of_partitions_are_truncated() -> None:
    assert format_partitions([("a", 1), ("a", 0)]) == "[a-0, a-1]"
    assert format_partitions(("a", n) for n in range(1000)).endswith("… and 980 more]")
