"""Planning of streams against a fake client: limits, delays, new, deleted and remade partitions."""

from __future__ import annotations

import json
import logging
import pickle
import random
from types import SimpleNamespace

import pytest

import ottla
from ottla.errors import ConfigError, DataLossError, FencedError
from ottla.spark import OttlaDataSource, lag, stream_planner
from ottla.spark.admission import Delay, at_most_bytes, at_most_offsets
from ottla.spark.group_progress import GroupProgress
from ottla.spark.options import parse_stream
from ottla.spark.ranges import OffsetRange
from ottla.spark.record_sizes import sample
from ottla.spark.stream_planner import StreamPlanner
from ottla.spark.stream_reader import PlainStreamReader, check_plain
from tests.spark.fake_client import FakeClient

BASE = {
    "kafka.bootstrap.servers": "b:1",
    "subscribePattern": "^t",
    "fetchOffset.retryIntervalMs": "0",
}
A, B, C = ("t", 0), ("t", 1), ("t", 2)


def options(**given: str) -> dict[str, str]:
    return {**BASE, **given}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    fake = FakeClient({A: (0, 100), B: (10, 30)})
    monkeypatch.setattr(stream_planner, "client_for", lambda *_, **__: fake)
    return fake


def planner(**given: str) -> StreamPlanner:
    return StreamPlanner(parse_stream(options(**given)))


def test_shares_are_those_of_sparks_source() -> None:
    start = {A: 0, B: 10, C: 5}
    newest = {A: 1000, B: 11, C: 5}
    assert at_most_offsets(start, newest, 100) == {A: 99, B: 11, C: 5}
    assert at_most_offsets(start, newest, 10**9) == newest
    assert at_most_offsets(start, start, 1) == start
    # A log that was cut is left to be found out by the plan.
    assert at_most_offsets({A: 50}, {A: 10}, 5) == {A: 10}


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
            at_most_offsets(start, newest, limit),
            at_most_bytes(start, newest, limit, weights),
        ):
            assert ends.keys() == newest.keys()
            assert all(start[p] <= ends[p] <= newest[p] for p in ends)
            assert ends != start or newest == start
        ends = at_most_offsets(start, newest, limit)
        taken = sum(ends[p] - start[p] for p in start)
        assert taken <= limit + len(start)


def test_bytes_are_shared_by_what_records_weigh() -> None:
    start, newest = {A: 0, B: 0}, {A: 1000, B: 1000}
    assert at_most_bytes(start, newest, 110_000, {A: 10.0, B: 100.0}) == newest
    assert at_most_bytes(start, newest, 55_000, {A: 10.0, B: 100.0}) == {A: 500, B: 500}
    assert at_most_bytes(start, newest, 1, {A: 10.0, B: 100.0}) == {A: 1, B: 1}


def test_delay() -> None:
    now = [1000.0]
    delay = Delay(10, 60.0, lambda: now[0])
    few, enough = {A: 5}, {A: 10}
    assert not delay.holds_back({A: 0}, few)  # the first trigger never waits
    assert delay.holds_back({A: 0}, few)
    assert not delay.holds_back({A: 0}, enough)
    now[0] += 59
    assert delay.holds_back({A: 0}, few)
    now[0] += 1
    assert not delay.holds_back({A: 0}, few)
    assert delay.holds_back({A: 0}, few)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {A: 100, B: 30}),
        ({"startingOffsets": "earliest"}, {A: 0, B: 10}),
        ({"startingOffsets": '{"t":{"0":-2,"1":-1}}'}, {A: 0, B: 30}),
        ({"startingOffsets": '{"t":{"0":7,"1":8}}'}, {A: 7, B: 8}),
        ({"startingTimestamp": "20"}, {A: 20, B: 20}),
        (
            {"startingTimestamp": "50", "startingOffsetsByTimestampStrategy": "latest"},
            {A: 50, B: 30},
        ),
    ],
)
def test_initial_offsets(
    client: FakeClient, given: dict[str, str], expected: dict[tuple[str, int], int]
) -> None:
    made = planner(**given)
    assert made.initial() == expected
    client.logs[A] = (50, 200)
    assert made.initial() == expected  # asked twice, it is the same


def test_initial_offsets_that_cannot_be(client: FakeClient) -> None:
    with pytest.raises(ConfigError, match="t-1 has no record at or after timestamp 50"):
        planner(startingTimestamp="50").initial()
    with pytest.raises(ConfigError, match=r"missing: \[t-1\]"):
        planner(startingOffsets='{"t":{"0":7}}').initial()


def test_new_partitions_start_at_their_first_record(client: FakeClient) -> None:
    made = planner(maxOffsetsPerTrigger="10")
    start = {A: 100, B: 30}
    client.logs[C] = (0, 5)
    assert made.end_of_batch(start) == {A: 100, B: 30, C: 5}
    assert made.plan(start, {A: 100, B: 30, C: 5}) == [(OffsetRange("t", 2, 0, 5),)]
    client.logs[C] = (2, 5)
    with pytest.raises(DataLossError, match="the new partition t-2 starts at 2"):
        made.plan(start, {A: 100, B: 30, C: 5})
    made = planner(failOnDataLoss="false")
    assert made.plan(start, {A: 100, B: 30, C: 5}) == [(OffsetRange("t", 2, 2, 5),)]


def test_what_is_gone(client: FakeClient, caplog: pytest.LogCaptureFixture) -> None:
    strict, lenient = planner(), planner(failOnDataLoss="false")
    start = {A: 50, B: 20, C: 7}
    with pytest.raises(DataLossError, match=r"partitions \[t-2\] have been deleted"):
        strict.plan(start, {A: 100, B: 30})
    with pytest.raises(DataLossError, match="t-0 was read up to offset 50, but ends at 10 now"):
        strict.plan({A: 50}, {A: 10})
    with caplog.at_level(logging.WARNING):
        assert lenient.plan(start, {A: 10, B: 30}) == [(OffsetRange("t", 1, 20, 30),)]
    assert "t-2" in caplog.text
    assert "made anew" in caplog.text
    # A batch that is planned again after a restart, and whose topic went in between.
    del client.logs[A]
    client.logs = {("other", 0): (0, 1), B: (10, 30)}
    assert lenient.plan({B: 20}, {("t", 3): 5, B: 30}) == [(OffsetRange("t", 1, 20, 30),)]


def test_a_log_that_seems_behind_is_asked_again(client: FakeClient) -> None:
    made = planner()
    client.logs[A] = (0, 90)
    asked: list[int] = []
    original = made.latest

    def latest() -> dict[tuple[str, int], int]:
        asked.append(1)
        if len(asked) == 3:
            client.logs[A] = (0, 120)
        return original()

    made.latest = latest  # type: ignore[method-assign]
    assert made.end_of_batch({A: 100, B: 30}) == {A: 120, B: 30}
    assert len(asked) == 3


def test_a_bounded_run_ends_where_the_log_ended(client: FakeClient) -> None:
    made = planner(minOffsetsPerTrigger="50", maxOffsetsPerTrigger="60")
    made.fix_target()
    client.logs[A], client.logs[C] = (0, 500), (0, 9)
    start = {A: 0, B: 10}
    ends = []
    while (end := made.end_of_batch(start)) != start:
        assert sum(end.values()) - sum(start.values()) <= 62
        ends.append(start := end)
    assert start == {A: 100, B: 30}
    assert len(ends) == 2
    assert made.newest == {A: 100, B: 30}


def test_a_trigger_that_is_held_back_is_where_it_was(client: FakeClient) -> None:
    made = planner(minOffsetsPerTrigger="1000", maxTriggerDelay="1h")
    start = {A: 0, B: 10}
    assert made.end_of_batch(start) == {A: 100, B: 30}  # the first
    assert made.end_of_batch(start) is start
    client.logs[A] = (0, 10_000)
    assert made.end_of_batch(start)[A] == 10_000


def test_ranges_are_cut_and_carry_leaders(client: FakeClient) -> None:
    made = planner(minPartitions="4")
    made.latest()
    pieces = made.plan({A: 0, B: 10}, {A: 100, B: 30})
    assert {piece.leader for (piece,) in pieces} == {"one:9092", "[::2]:9092"}
    assert len(pieces) == 4


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900), ("90s", 90), ("1500", 1.5), ("2H", 7200), ("1d", 86400), (" 5min ", 300)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_stream(options(maxTriggerDelay=text)).max_trigger_delay == seconds


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
        parse_stream(options(**given))


@pytest.mark.parametrize(
    "name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxBytesPerTrigger"]
)
def test_limits_that_an_older_pyspark_would_pass_over(name: str) -> None:
    check_plain(parse_stream(options(maxTriggerDelay="1m")))
    with pytest.raises(ConfigError, match=f"option {name} needs PySpark 4.2 or newer"):
        check_plain(parse_stream(options(**{name: "5"})))


def test_readers_carry_no_planner_to_tasks(client: FakeClient) -> None:
    source = OttlaDataSource(options(**{"kafka.sasl.password": "hunter2"}))
    reader = source.streamReader(source.schema())
    assert reader.initialOffset() == {"t": {"0": 100, "1": 30}}
    copy = pickle.loads(pickle.dumps(reader))
    assert copy._planner is None
    assert "hunter2" not in repr(reader) + repr(vars(copy))
    plain = PlainStreamReader(parse_stream(options()), source.schema())
    assert plain.latestOffset() == {"t": {"0": 100, "1": 30}}
    (task,) = plain.partitions({"t": {"0": 90, "1": 30}}, {"t": {"0": 100, "1": 30}})
    assert task.ranges == (OffsetRange("t", 0, 90, 100, "one:9092"),)


def test_progress_that_cannot_be_published_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[dict[tuple[str, int], int]] = []

    class Refusing:
        def __init__(self, client: object) -> None:
            pass

        def alter_consumer_group_offsets(
            self, group: str, offsets: dict[tuple[str, int], int], timeout: float
        ) -> None:
            told.append(offsets)
            if len(told) == 1:
                raise FencedError(f"{group} has members")

    monkeypatch.setattr(ottla, "Admin", Refusing)
    progress = GroupProgress("g")
    for _ in range(3):
        progress.publish(FakeClient({}), {A: 5, C: 1}, {A, B})
    progress.publish(FakeClient({}), {A: 6, B: 1}, {A, B})
    # Tried again until it went well, then only what changed, and never what is deleted.
    assert told == [{A: 5}, {A: 5}, {A: 6, B: 1}]
    assert "not published for group g: g has members" in caplog.text


def test_a_sample_counts_offsets_not_records() -> None:
    client = FakeClient({A: (0, 10)})
    # The fake's scan has two batches of three nulls, whatever the range.
    assert sample(client, [OffsetRange("t", 0, 0, 10)], fail_on_data_loss=True) >= 1.0
    assert client.asked[0]["ranges"] == [("t", 0, 0, 10)]
    assert sample(client, [], fail_on_data_loss=True) == 1.0


def test_lag() -> None:
    progress = SimpleNamespace(
        sources=[
            SimpleNamespace(
                latestOffset='{"t":{"0":10,"1":5},"u":{"0":3}}',
                endOffset='{"t":{"0":4,"1":5}}',
            ),
            SimpleNamespace(latestOffset=None, endOffset="5"),
            SimpleNamespace(latestOffset='{"logOffset":3}', endOffset='{"logOffset":2}'),
        ]
    )
    found = lag(progress)
    assert dict(found.partitions) == {("t", 0): 6, ("t", 1): 0, ("u", 0): 3}
    assert (found.total, found.max, found.min, found.average) == (9, 6, 0, 3.0)
    as_dict = {"sources": [vars(source) for source in progress.sources]}
    assert lag(json.loads(json.dumps(as_dict))) == found
    nothing = lag(None)
    assert (nothing.total, nothing.max, nothing.min, nothing.average) == (0, 0, 0, 0.0)
