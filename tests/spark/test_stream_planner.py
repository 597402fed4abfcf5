"""Planning of streams with a fake client: starts, limits, new, deleted, recreated partitions."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from functools import partial

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from ottla._internal.planning.offset_range import OffsetRange
from ottla.errors import ConfigError, DataLossError, UnknownTopicError
from ottla.spark import OttlaDataSource
from ottla.spark.options.read_options import parse_stream_options
from ottla.spark.planning import log_end_offsets
from ottla.spark.planning.stream_planner import StreamPlanner
from ottla.spark.reading.partition_reader import PartitionReader
from ottla.spark.reading.stream_reader import check_no_limits
from tests.spark.fake_client import FakeClient

BASE = {
    "kafka.bootstrap.servers": "b:1",
    "subscribePattern": "^t",
    "fetchOffset.retryIntervalMs": "0",
}
A, B, C = ("t", 0), ("t", 1), ("t", 2)


def options(**given: str) -> dict[str, str]:
    return {**BASE, **given}


def planner(**given: str) -> StreamPlanner:
    return StreamPlanner(parse_stream_options(options(**given)))


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
    stream_client: FakeClient, given: dict[str, str], expected: dict[tuple[str, int], int]
) -> None:
    made = planner(**given)
    assert made.first_batch(unlimited=True) == (expected, {A: 100, B: 30})
    stream_client.logs[A] = (50, 200)
    # A second call returns the same.
    assert made.first_batch(unlimited=True) == (expected, {A: 200, B: 30})


def test_invalid_initial_offsets(stream_client: FakeClient) -> None:
    with pytest.raises(ConfigError, match="t-1 has no record at or after timestamp 50"):
        planner(startingTimestamp="50").first_batch(unlimited=True)
    with pytest.raises(ConfigError, match=r"missing: \[t-1\]"):
        planner(startingOffsets='{"t":{"0":7}}').first_batch(unlimited=True)


def test_new_partitions_start_at_their_first_record(stream_client: FakeClient) -> None:
    made = planner(maxOffsetsPerTrigger="10")
    start = {A: 100, B: 30}
    stream_client.logs[C] = (0, 5)
    assert made.end_of_batch(start) == {A: 100, B: 30, C: 5}
    assert made.plan_tasks(start, {A: 100, B: 30, C: 5}) == [(OffsetRange("t", 2, 0, 5),)]
    stream_client.logs[C] = (2, 5)
    with pytest.raises(DataLossError, match="the new partition t-2 starts at offset 2"):
        made.plan_tasks(start, {A: 100, B: 30, C: 5})
    made = planner(failOnDataLoss="false")
    assert made.plan_tasks(start, {A: 100, B: 30, C: 5}) == [(OffsetRange("t", 2, 2, 5),)]


def test_deleted_partitions_and_truncated_logs(
    stream_client: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    strict, lenient = planner(), planner(failOnDataLoss="false")
    start = {A: 50, B: 20, C: 7}
    with pytest.raises(DataLossError, match=r"partitions \[t-2\] have been deleted"):
        strict.plan_tasks(start, {A: 100, B: 30})
    with pytest.raises(DataLossError, match="t-0 was read up to offset 50, but ends at 10 now"):
        strict.plan_tasks({A: 50}, {A: 10})
    with caplog.at_level(logging.WARNING):
        assert lenient.plan_tasks(start, {A: 10, B: 30}) == [(OffsetRange("t", 1, 20, 30),)]
    assert "t-2" in caplog.text
    assert "created again" in caplog.text
    # A batch that is planned again after a restart, and whose topic was deleted in between.
    del stream_client.logs[A]
    stream_client.logs = {("other", 0): (0, 1), B: (10, 30)}
    ((part,),) = lenient.plan_tasks({B: 20}, {("t", 3): 5, B: 30})
    assert (part.topic_partition, part.start, part.end) == (B, 20, 30)


@pytest.mark.parametrize("keeps", ["true", "false"])
def test_new_partitions_of_which_one_is_deleted(
    stream_client: FakeClient, caplog: pytest.LogCaptureFixture, keeps: str
) -> None:
    # Planned before a restart, during which one of two new topics is deleted.
    made = planner(failOnDataLoss=keeps)
    stream_client.logs["t2", 0] = (0, 5)
    start, end = {A: 100, B: 30}, {A: 100, B: 30, ("t1", 0): 4, ("t2", 0): 5}
    if keeps == "true":
        with pytest.raises(DataLossError, match=r"\[t1-0\] were deleted before they were read"):
            made.plan_tasks(start, end)
        return
    with caplog.at_level(logging.WARNING):
        assert [(r.topic, r.start, r.end) for (r,) in made.plan_tasks(start, end)] == [("t2", 0, 5)]
    assert "[t1-0] were deleted before they were read" in caplog.text
    # The lookup does not wait for it.
    assert stream_client.offset_timeouts == [5.0]


def test_a_topic_of_a_pattern_deleted_during_the_lookup(stream_client: FakeClient) -> None:
    start, newest = {A: 100, B: 30}, {A: 120, B: 30}
    stream_client.logs[A] = (0, 120)
    for fails in ("true", "false"):
        made = planner(failOnDataLoss=fails)
        stream_client.listed_once = {"t-gone"}
        assert made.latest_offsets(start) == newest
        # Or after the lookup of partitions, before that of offsets.
        stream_client.logs["t-going", 0] = (0, 3)
        stream_client.before_responses = [partial(stream_client.logs.pop, ("t-going", 0))]
        assert made.latest_offsets(start) == newest
    stream_client.listed_once = {"t-gone"}
    assert planner().first_batch(unlimited=True) == (newest, newest)


@pytest.mark.parametrize("named", [{"subscribe": "t,u"}, {"assign": '{"t":[0],"u":[0]}'}])
def test_a_deleted_topic_that_is_named_fails_the_query(
    stream_client: FakeClient, named: dict[str, str]
) -> None:
    stream_client.logs["u", 0] = (0, 3)
    given = {**BASE, **named, "failOnDataLoss": "false"}
    del given["subscribePattern"]
    made = StreamPlanner(parse_stream_options(given))
    start = made.latest_offsets({})
    del stream_client.logs["u", 0]
    with pytest.raises(UnknownTopicError, match="u"):
        made.latest_offsets(start)


def test_skipped_partitions_are_logged_once_and_not_at_each_trigger(
    stream_client: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    given = {**BASE, "assign": '{"t":[0,7],"__own":[0]}'}
    del given["subscribePattern"]
    stream_client.logs["__own", 0] = (0, 3)
    stream_client.internal.add("__own")
    made = StreamPlanner(parse_stream_options(given))
    for _ in range(3):
        made.latest_offsets({})
    assert sorted(caplog.messages) == [
        "assigned partitions that do not exist are not read: [__own-0, t-7]",
        "topic __own is internal to Kafka and is not read",
    ]
    # A new message is logged.
    del stream_client.logs[A]
    made.latest_offsets({})
    assert len(caplog.messages) == 3


def test_a_stale_log_end_is_looked_up_again(stream_client: FakeClient) -> None:
    made, start = planner(maxOffsetsPerTrigger="10"), {A: 100, B: 30}

    def ends_at(offset: int) -> Callable[[], None]:
        return lambda: stream_client.logs.update({A: (0, offset)})

    stream_client.before_responses = [ends_at(90), ends_at(90), ends_at(120)]
    assert made.end_of_batch(start) == {A: 110, B: 30}
    # With and without limits, and at the end of an AvailableNow run.
    stream_client.before_responses = [ends_at(90), ends_at(90), ends_at(120)]
    assert made.end_of_batch(start, unlimited=True) == {A: 120, B: 30}
    stream_client.before_responses = [ends_at(90), ends_at(90), ends_at(105)]
    made.prepare_available_now()
    assert made.end_of_batch(start) == {A: 105, B: 30}
    assert made.end_of_batch({A: 105, B: 30}) == {A: 105, B: 30}
    assert stream_client.before_responses == []


def test_an_end_is_never_before_a_planned_offset(
    stream_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a leader that lagged for longer than the attempts caused a DataLossError."""
    start = {A: 100, B: 30}
    stream_client.logs[A] = (0, 90)
    for made in (planner(), planner()):
        assert made.end_of_batch(start, unlimited=True) == start
        made.plan_tasks(start, start)
        stream_client.logs[A] = (0, 120)
        assert made.latest_offsets(start) == {A: 120, B: 30}
        stream_client.logs[A] = (0, 90)
    # A truncated log stays truncated.
    monkeypatch.setattr(log_end_offsets, "STALE_LEADER_SECONDS", 0.0)
    cut = planner().end_of_batch(start, unlimited=True)
    assert cut == {A: 90, B: 30}
    with pytest.raises(DataLossError, match="its log was truncated"):
        planner().plan_tasks(start, cut)


def test_an_available_now_run_waits_for_a_lagging_leader(stream_client: FakeClient) -> None:
    start = {A: 100, B: 30}

    def ends_at(offset: int) -> Callable[[], None]:
        return lambda: stream_client.logs.update({A: (0, offset)})

    stream_client.logs[A] = (0, 90)
    made = planner()
    made.prepare_available_now()
    # Stale more often than there are attempts.
    stream_client.before_responses = [*[ends_at(90)] * 5, ends_at(105)]
    assert made.end_of_batch(start) == {A: 105, B: 30}


def test_an_available_now_run_reports_a_truncated_log(
    stream_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: this run and all later ones ended at once, silently, so that the records of a
    recreated topic up to the old offset were lost.
    """
    monkeypatch.setattr(log_end_offsets, "STALE_LEADER_SECONDS", 1.0)
    start = {A: 100, B: 30}
    stream_client.logs[A] = (0, 90)
    made = planner()
    made.prepare_available_now()
    cut = made.end_of_batch(start)
    assert cut == {A: 90, B: 30}
    with pytest.raises(DataLossError, match="its log was truncated"):
        made.plan_tasks(start, cut)


def test_a_recreated_topic_is_reported_at_once(stream_client: FakeClient) -> None:
    made, start = planner(), {A: 100, B: 30}
    stream_client.ids = {"t": "first"}
    assert made.latest_offsets(start) == start
    stream_client.logs[A], stream_client.ids = (0, 3), {"t": "second"}
    assert made.latest_offsets(start) == {A: 3, B: 30}


def test_an_available_now_run_ends_where_the_log_ended(stream_client: FakeClient) -> None:
    made = planner(minOffsetsPerTrigger="50", maxOffsetsPerTrigger="60")
    made.prepare_available_now()
    stream_client.logs[A], stream_client.logs[C] = (0, 500), (0, 9)
    start = {A: 0, B: 10}
    ends = []
    while (end := made.end_of_batch(start)) != start:
        assert sum(end.values()) - sum(start.values()) <= 62
        ends.append(start := end)
    assert start == {A: 100, B: 30}
    assert len(ends) == 2
    assert made.latest == {A: 100, B: 30}


def test_a_delayed_trigger_returns_its_start(stream_client: FakeClient) -> None:
    made = planner(minOffsetsPerTrigger="1000", maxTriggerDelay="1h")
    start = {A: 0, B: 10}
    assert made.end_of_batch(start) == {A: 100, B: 30}  # the first
    assert made.end_of_batch(start) is start
    stream_client.logs[A] = (0, 10_000)
    assert made.end_of_batch(start)[A] == 10_000


def test_ranges_are_split_and_have_leaders(stream_client: FakeClient) -> None:
    made = planner(minPartitions="4")
    made.latest_offsets({})
    parts = made.plan_tasks({A: 0, B: 10}, {A: 100, B: 30})
    assert {part.leader for (part,) in parts} == {"one:9092", "[::2]:9092"}
    assert len(parts) == 4


@pytest.mark.parametrize(
    "name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxBytesPerTrigger"]
)
def test_limits_need_a_newer_pyspark(name: str) -> None:
    check_no_limits(parse_stream_options(options(maxTriggerDelay="1m")))
    with pytest.raises(ConfigError, match=f"option {name} needs PySpark 4.2 or newer"):
        check_no_limits(parse_stream_options(options(**{name: "5"})))


def test_readers_pickle_no_planner(stream_client: FakeClient) -> None:
    source = OttlaDataSource(options(**{"kafka.sasl.password": "hunter2"}))
    reader = source.streamReader(source.schema())
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable())["t"] == {
        "0": 100,
        "1": 30,
    }
    copy = pickle.loads(pickle.dumps(reader))
    assert type(copy) is PartitionReader
    assert "hunter2" not in repr(reader) + repr(copy)
