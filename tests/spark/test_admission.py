"""Admission control: shares of partitions, limits and delays, and their options."""

from __future__ import annotations

import random

import pytest

from ottla.errors import ConfigError
from ottla.spark.options.read_options import parse_stream_options
from ottla.spark.planning.admission import TriggerDelay, limit_bytes, limit_offsets

BASE = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}
A, B, C = ("t", 0), ("t", 1), ("t", 2)


def test_offsets_are_shared_as_by_sparks_source() -> None:
    start = {A: 0, B: 10, C: 5}
    newest = {A: 1000, B: 11, C: 5}
    assert limit_offsets(start, newest, 100) == {A: 99, B: 11, C: 5}
    assert limit_offsets(start, newest, 10**9) == newest
    assert limit_offsets(start, start, 1) == start
    # A truncated log is detected later, by the plan.
    assert limit_offsets({A: 50}, {A: 10}, 5) == {A: 10}


def test_limits_end_within_the_log_and_always_advance() -> None:
    rng = random.Random(5)
    for _ in range(500):
        start = {("t", n): rng.randrange(100) for n in range(5)}
        newest = {
            p: offset + rng.choice([0, 1, rng.randrange(10**6)]) for p, offset in start.items()
        }
        limit = rng.randrange(1, 1000)
        weights = {p: rng.uniform(1, 1e6) for p in start}
        for ends in (
            limit_offsets(start, newest, limit),
            limit_bytes(start, newest, limit, weights),
        ):
            assert ends.keys() == newest.keys()
            assert all(start[p] <= ends[p] <= newest[p] for p in ends)
            assert ends != start or newest == start
        ends = limit_offsets(start, newest, limit)
        taken = sum(ends[p] - start[p] for p in start)
        assert taken <= limit + len(start)


def test_bytes_are_shared_by_record_size() -> None:
    start, newest = {A: 0, B: 0}, {A: 1000, B: 1000}
    assert limit_bytes(start, newest, 110_000, {A: 10.0, B: 100.0}) == newest
    assert limit_bytes(start, newest, 55_000, {A: 10.0, B: 100.0}) == {A: 500, B: 500}
    assert limit_bytes(start, newest, 1, {A: 10.0, B: 100.0}) == {A: 1, B: 1}


def test_delay() -> None:
    now = [1000.0]
    delay = TriggerDelay(10, 60.0, lambda: now[0])
    few, enough = {A: 5}, {A: 10}
    assert not delay.should_delay({A: 0}, few)
    assert delay.should_delay({A: 0}, few)
    assert not delay.should_delay({A: 0}, enough)
    now[0] += 59
    assert delay.should_delay({A: 0}, few)
    now[0] += 1
    assert not delay.should_delay({A: 0}, few)
    assert delay.should_delay({A: 0}, few)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900), ("90s", 90), ("1500", 1.5), ("2H", 7200), ("1d", 86400), (" 5min ", 300)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_stream_options({**BASE, "maxTriggerDelay": text}).max_trigger_delay == seconds


@pytest.mark.parametrize(
    "given",
    [
        {"maxTriggerDelay": "soon"},
        {"maxTriggerDelay": "1w"},
        {"maxTriggerDelay": "-1s"},
        {"maxOffsetsPerTrigger": "0"},
        {"maxBytesPerTrigger": "1k"},
        {"minOffsetsPerTrigger": "-1"},
        {"endingTimestamp": "5"},
        {"endingOffsets": "latest"},
    ],
)
def test_wrong_options(given: dict[str, str]) -> None:
    (name,) = given
    with pytest.raises(ConfigError, match=name):
        parse_stream_options({**BASE, **given})
