"""Splitting ranges: as Spark's Kafka source does, without losing or repeating an offset."""

from __future__ import annotations

import random

import pytest

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.range_splitting import split_ranges

Ends = list[tuple[int, int]]


def ranges(*ends: tuple[int, int]) -> list[OffsetRange]:
    return [OffsetRange(f"t{n}", 1, start, end, "b:1") for n, (start, end) in enumerate(ends)]


def split_at(whole: list[OffsetRange], *ends: Ends) -> list[OffsetRange]:
    return [
        OffsetRange(one.topic, 1, start, end, "b:1")
        for one, bounds in zip(whole, ends, strict=True)
        for start, end in bounds
    ]


@pytest.mark.parametrize(
    ("given", "least", "most", "expected"),
    [
        # No option: unchanged, without empty ranges.
        ([(1, 2)], None, None, [[(1, 2)]]),
        ([(1, 2), (1, 1)], None, None, [[(1, 2)], []]),
        ([(5, 1)], None, None, [[]]),
        ([], 4, 5, []),
        # minPartitions: enough already, one range, skew, remainders.
        ([(1, 2)] * 3, 3, None, [[(1, 2)]] * 3),
        ([(1, 5), (1, 21)], 1, None, [[(1, 5)], [(1, 21)]]),
        ([(1, 5)], 4, None, [[(1, 2), (2, 3), (3, 4), (4, 5)]]),
        ([(1, 11)], 3, None, [[(1, 4), (4, 7), (7, 11)]]),
        ([(1, 5), (1, 21)], 4, None, [[(1, 5)], [(1, 7), (7, 14), (14, 21)]]),
        ([(1, 1), (1, 21)], 4, None, [[], [(1, 6), (6, 11), (11, 16), (16, 21)]]),
        ([(1, 2), (1, 1001)], 4, None, [[(1, 2)], [(1, 334), (334, 667), (667, 1001)]]),
        (
            [(0, 10), (0, 10), (0, 1)],
            6,
            None,
            [[(0, 3), (3, 6), (6, 10)], [(0, 3), (3, 6), (6, 10)], [(0, 1)]],
        ),
        (
            [(0, 500), (0, 12000), (0, 15001)],
            6,
            None,
            [[(0, 500)], [(0, 6000), (6000, 12000)], [(0, 5000), (5000, 10000), (10000, 15001)]],
        ),
        # More parts than records.
        ([(0, 2)], 100, None, [[(0, 1), (1, 2)]]),
        # maxRecordsPerPartition alone.
        ([(1, 5)], None, 4, [[(1, 5)]]),
        ([(1, 6)], None, 4, [[(1, 3), (3, 6)]]),
        (
            [(1, 40), (1, 50), (1, 60)],
            None,
            20,
            [
                [(1, 20), (20, 40)],
                [(1, 17), (17, 33), (33, 50)],
                [(1, 20), (20, 40), (40, 60)],
            ],
        ),
        # Both: the maximum first, then the minimum splits further.
        ([(1, 40)], 1, 20, [[(1, 20), (20, 40)]]),
        ([(1, 40)], 4, 20, [[(1, 10), (10, 20), (20, 30), (30, 40)]]),
        (
            [(0, 9000), (0, 900), (0, 10)],
            6,
            3000,
            [[(0, 3000), (3000, 6000), (6000, 9000)], [(0, 900)], [(0, 10)]],
        ),
    ],
)
def test_splitting(given: Ends, least: int | None, most: int | None, expected: list[Ends]) -> None:
    whole = ranges(*given)
    got = split_ranges(whole, min_partitions=least, max_records_per_partition=most)
    assert got == split_at(whole, *expected)


def test_half_a_part_rounds_up() -> None:
    # 5 of 10 records and 5 parts: 2.5 each, which the JVM rounds to 3.
    got = split_ranges(ranges((0, 5), (0, 5)), min_partitions=5)
    assert len(got) == 6


def test_nothing_is_lost_or_repeated() -> None:
    rng = random.Random(7)
    for _ in range(500):
        given = ranges(*[(s := rng.randrange(50), s + rng.randrange(200)) for _ in range(5)])
        least = rng.choice([None, rng.randrange(1, 60)])
        most = rng.choice([None, rng.randrange(1, 60)])
        got = split_ranges(given, min_partitions=least, max_records_per_partition=most)
        assert all(part.size > 0 for part in got)
        assert most is None or all(part.size <= most for part in got)
        covered = [(p.topic, offset) for p in got for offset in range(p.start, p.end)]
        assert covered == [(p.topic, offset) for p in given for offset in range(p.start, p.end)]
