"""Packing ranges into tasks, and filters into bounds: nothing lost, nothing read twice."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import datasource as d

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.range_splitting import split_ranges
from ottla._internal.planning.read_bounds import ReadBounds
from ottla.errors import ConfigError
from ottla.spark.options.read_options import CommonOptions, parse_batch_options
from ottla.spark.planning.batch_planner import plan_batch
from ottla.spark.planning.pushdown import push_filters
from ottla.spark.planning.task_packing import (
    MAX_PACKED_BYTES,
    MAX_PACKED_OFFSETS,
    MIN_TASKS,
    SizeEstimate,
    TaskRanges,
    pack_ranges,
)
from ottla.spark.reading.batch_reader import make_batch_reader
from ottla.spark.reading.schema import full_schema
from tests.spark.fake_client import FakeClient


def source(**options: str) -> CommonOptions:
    base = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}
    return parse_batch_options({**base, **options}).common


def ranges(*sizes: int, leaders: int = 1) -> list[OffsetRange]:
    return [OffsetRange("t", n, 5, 5 + size, f"b:{n % leaders}") for n, size in enumerate(sizes)]


def heavy(parts: Iterable[OffsetRange]) -> Mapping[tuple[str, int], float]:
    return {part.topic_partition: 100.0 for part in parts}


def unexpected_estimate(parts: Iterable[OffsetRange]) -> Mapping[tuple[str, int], float]:
    raise AssertionError("no size is needed")


def sizes(tasks: list[TaskRanges]) -> list[list[int]]:
    return [[part.size for part in task] for task in tasks]


def even(size: float) -> SizeEstimate:
    return lambda parts: {part.topic_partition: size for part in parts}


def test_few_ranges_have_one_task_each_as_with_sparks_source() -> None:
    assert (
        sizes(pack_ranges(ranges(*[1] * MIN_TASKS), source(), unexpected_estimate))
        == [[1]] * MIN_TASKS
    )
    assert pack_ranges([], source(), unexpected_estimate) == []
    # Many ranges that are large anyway: no size is estimated.
    assert (
        len(pack_ranges(ranges(*[MAX_PACKED_OFFSETS] * 500), source(), unexpected_estimate)) == 500
    )


def test_many_small_ranges_share_tasks() -> None:
    tasks = pack_ranges(ranges(*[100] * 1000, leaders=3), source(), even(100))
    assert MIN_TASKS <= len(tasks) <= MIN_TASKS + 6
    assert {len({part.leader for part in task}) for task in tasks} == {1}
    # Large ones stay alone, and shared tasks stay small.
    mixed = pack_ranges(ranges(*[MAX_PACKED_OFFSETS, 10**6, 3] * 500), source(), even(100))
    together = [task for task in mixed if len(task) > 1]
    assert together
    assert all(sum(part.size for part in task) <= MAX_PACKED_OFFSETS for task in together)
    assert len(mixed) == 1000 + len(together)


def test_large_records_share_no_task() -> None:
    given = ranges(*[80] * 999, leaders=3)
    assert len(pack_ranges(given, source(), even(10_000_000))) == 999
    assert sizes(pack_ranges(given, source(), even(MAX_PACKED_BYTES / 240))) == [[80] * 3] * 333


@pytest.mark.parametrize("option", ["minPartitions", "maxRecordsPerPartition"])
def test_options_for_the_number_of_tasks_disable_packing(option: str) -> None:
    given = ranges(*[1] * 500)
    assert len(pack_ranges(given, source(**{option: "2"}), unexpected_estimate)) == 500


def test_tasks_of_a_target_size() -> None:
    chosen = source(targetBytesPerPartition="10000")
    assert sizes(pack_ranges(ranges(250, 100, 30, 30, 30, 50), chosen, heavy)) == [
        [83],
        [84],
        [100],
        [83],
        [30, 30, 30],
        [50],
    ]
    tiny = source(targetBytesPerPartition="1")
    assert sizes(pack_ranges(ranges(3), tiny, heavy)) == [[1], [1], [1]]


def planned(log: int, **options: str) -> list[list[int]]:
    """Plan one partition with this number of records of a hundred bytes each."""
    named = source(targetBytesPerPartition=str(100 << 20), **options)
    cut = split_ranges(
        ranges(log),
        min_partitions=named.min_partitions,
        max_records_per_partition=named.max_records_per_partition,
    )
    return sizes(pack_ranges(cut, named, heavy))


def test_the_target_size_overrides_none_of_sparks_own_options() -> None:
    assert planned(100_000) == [[100_000]]
    assert planned(100_000, maxRecordsPerPartition="100") == [[100]] * 1000
    assert planned(100_000, minPartitions="40") == [[2_500]] * 40


def test_nothing_is_lost_or_repeated() -> None:
    rng = random.Random(3)
    for _ in range(300):
        given = ranges(
            *(rng.randrange(1, 5000) for _ in range(rng.choice([20, 200]))),
            leaders=rng.randrange(1, 5),
        )
        chosen, bound = source(), None
        if rng.random() < 0.5:
            if rng.random() < 0.5:
                bound = 6000
            most = {} if bound is None else {"maxRecordsPerPartition": str(bound)}
            chosen = source(targetBytesPerPartition=str(rng.randrange(1000, 10**6)), **most)
        tasks = pack_ranges(given, chosen, heavy)
        if bound is not None:
            assert all(sum(part.size for part in task) <= bound for task in tasks)
        assert all(tasks)
        covered = sorted((p.partition, o) for task in tasks for p in task for o in (p.start, p.end))
        ends = {p.partition: (p.start, p.end) for p in given}
        for partition, (start, end) in ends.items():
            offsets = [offset for number, offset in covered if number == partition]
            # Each inner border ends one part and starts the next.
            assert offsets[0] == start
            assert offsets[-1] == end
            assert offsets[1:-1:2] == offsets[2:-1:2]


def equal(column: str, value: Any) -> d.Filter:
    return d.EqualTo((column,), value)


@pytest.mark.parametrize(
    ("filters", "left", "expected"),
    [
        ([equal("topic", "t"), d.IsNotNull(("topic",))], 0, [(0, 0, 100), (1, 0, 50)]),
        ([equal("topic", "u")], 0, []),
        ([d.StringStartsWith(("topic",), "x")], 0, []),
        ([d.In(("partition",), (1, 7))], 0, [(1, 0, 50)]),
        ([d.GreaterThan(("partition",), 0)], 0, [(1, 0, 50)]),
        ([d.LessThanOrEqual(("partition",), 0)], 0, [(0, 0, 100)]),
        ([d.GreaterThanOrEqual(("offset",), 40)], 0, [(0, 40, 100), (1, 40, 50)]),
        ([d.GreaterThan(("offset",), 49)], 0, [(0, 50, 100)]),
        ([d.LessThan(("offset",), 10)], 0, [(0, 0, 10), (1, 0, 10)]),
        (
            [d.GreaterThan(("offset",), 3), d.LessThanOrEqual(("offset",), 5)],
            0,
            [(0, 4, 6), (1, 4, 6)],
        ),
        ([equal("offset", 99)], 0, [(0, 99, 100)]),
        ([d.In(("offset",), (1, 2))], 1, [(0, 0, 100), (1, 0, 50)]),
        ([d.Not(equal("partition", 0))], 1, [(0, 0, 100), (1, 0, 50)]),
        ([equal("key", b"k"), d.IsNotNull(("key",))], 2, [(0, 0, 100), (1, 0, 50)]),
        ([d.EqualTo(("headers", "x"), 1)], 1, [(0, 0, 100), (1, 0, 50)]),
    ],
)
def test_filters(filters: list[d.Filter], left: int, expected: list[tuple[int, int, int]]) -> None:
    bounds, back = push_filters(filters)
    assert len(back) == left
    client = FakeClient({("t", 0): (0, 100), ("t", 1): (0, 50)})
    options = parse_batch_options({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    found = plan_batch(client, options, bounds)
    assert [(p.partition, p.start, p.end) for p in found] == expected


def test_timestamps_are_only_a_lower_bound() -> None:
    # The fake's timestamps are its offsets.
    client = FakeClient({("t", 0): (0, 100), ("t", 1): (0, 50)})
    options = parse_batch_options({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    moment = datetime.fromtimestamp(0.060, timezone.utc)
    for kind in (d.GreaterThan, d.GreaterThanOrEqual, d.EqualTo):
        bounds, back = push_filters([kind(("timestamp",), moment)])
        assert len(back) == 1
        ((partition, start, end),) = [
            (p.partition, p.start, p.end) for p in plan_batch(client, options, bounds)
        ]
        assert (partition, end) == (0, 100)
        assert start in (59, 60)
    for from_above in (d.LessThan, d.LessThanOrEqual):
        bounds, back = push_filters([from_above(("timestamp",), moment)])
        assert (bounds, len(back)) == (ReadBounds(), 1)
    # A timestamp without a time zone is ambiguous.
    naive = datetime(2020, 1, 1)  # noqa: DTZ001
    assert push_filters([d.GreaterThan(("timestamp",), naive)])[0] == ReadBounds()


@pytest.mark.parametrize("milliseconds", [-(10**12), -1, 0, 1])
def test_timestamps_before_1970_set_no_bound(milliseconds: int) -> None:
    # Records may be older, and brokers look up no timestamp of 0 or less.
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=milliseconds)
    for kind in (d.GreaterThan, d.GreaterThanOrEqual, d.EqualTo, d.EqualNullSafe):
        bounds, back = push_filters([kind(("timestamp",), moment)])
        assert (bounds, len(back)) == (ReadBounds(), 1)
    # Such a bound does not weaken a later one.
    later = datetime.fromtimestamp(0.060, timezone.utc)
    filters: list[d.Filter] = [d.GreaterThan(("timestamp",), m) for m in (moment, later, moment)]
    assert push_filters(filters)[0] == ReadBounds(min_timestamp=59)


def test_pushdown_needs_a_newer_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(d, "Filter")
    options = {"kafka.bootstrap.servers": "b:1", "subscribe": "t", "pushFilters": "true"}
    with pytest.raises(ConfigError, match=r"pushFilters needs PySpark 4\.1"):
        make_batch_reader(parse_batch_options(options), full_schema(include_headers=False))
