"""The offsets that a stream stores in its checkpoint, and how it uses them after a restart."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows

from ottla.errors import ConfigError, DataLossError
from ottla.spark import OttlaDataSource
from ottla.spark.options.read_options import parse_stream_options
from ottla.spark.planning.checkpoint import (
    UNRESOLVED_START,
    first_batch_end,
    first_batch_start,
    offsets_from_json,
    offsets_to_json,
)
from ottla.spark.planning.stream_planner import StreamPlanner
from ottla.spark.reading.partition_reader import OffsetRangesPartition
from ottla.spark.reading.stream_reader import BasicStreamReader, StreamReader
from tests.spark.fake_client import FakeClient

BASE = {
    "kafka.bootstrap.servers": "b:1",
    "subscribePattern": "^t",
    "fetchOffset.retryIntervalMs": "0",
}
A, B, C = ("t", 0), ("t", 1), ("t", 2)
ALL = ReadAllAvailable()

Ranges = dict[tuple[str, int], tuple[int, int]]


def reader(**options: str) -> StreamReader:
    """Return the reader of a process that has just started."""
    source = OttlaDataSource({**BASE, **options})
    made = source.streamReader(source.schema())
    assert isinstance(made, StreamReader)
    return made


def plain(**options: str) -> BasicStreamReader:
    source = OttlaDataSource({**BASE, **options})
    return BasicStreamReader(parse_stream_options({**BASE, **options}), source.schema())


def kept(offset: Any) -> Any:
    """Return offsets as Spark passes them back."""
    return json.loads(json.dumps(offset))


def planned(made: BasicStreamReader, start: Any, end: Any) -> Ranges:
    found: Ranges = {}
    for task in made.partitions(kept(start), kept(end)):
        assert isinstance(task, OffsetRangesPartition)
        found |= {piece.topic_partition: (piece.start, piece.end) for piece in task.ranges}
    return found


def test_json_is_deterministic_and_round_trips() -> None:
    read = {("b", 10): 5, ("b", 9): 4, ("a", 0): 1}
    text = json.dumps(offsets_to_json(read), separators=(",", ":"))
    assert text == '{"a":{"0":1},"b":{"9":4,"10":5}}'
    assert offsets_from_json(json.loads(text)) == read
    assert first_batch_start(json.loads(text)) is None


def test_the_start_of_a_query_is_stored_next_to_the_offsets() -> None:
    end = first_batch_end({A: 3, B: 4}, {A: 5, B: 6})
    assert end == {"t": {"0": 5, "1": 6}, "t@start": {"0": 3, "1": 4}}
    assert offsets_from_json(kept(end)) == {A: 5, B: 6}
    assert first_batch_start(kept(end)) == {A: 3, B: 4}
    assert first_batch_start(first_batch_end({}, {})) == {}
    assert offsets_from_json(UNRESOLVED_START) == {}


# The number of lookups for the start; then the log grows, and its end is looked up.
FIRST: list[tuple[dict[str, str], ReadLimit, int, Ranges]] = [
    ({"startingOffsets": "latest"}, ALL, 1, {A: (100, 150), B: (30, 30)}),
    ({"startingOffsets": "earliest"}, ALL, 1, {A: (0, 150), B: (10, 30)}),
    ({"startingOffsets": '{"t":{"0":-1,"1":-2}}'}, ALL, 2, {A: (100, 150), B: (10, 30)}),
    ({"startingOffsets": '{"t":{"0":7,"1":8}}'}, ALL, 0, {A: (7, 150), B: (8, 30)}),
    (
        {"startingTimestamp": "40", "startingOffsetsByTimestampStrategy": "latest"},
        ALL,
        2,
        {A: (40, 150), B: (30, 30)},
    ),
    (
        {"startingOffsetsByTimestamp": '{"t":{"0":1,"1":2}}'},
        ALL,
        1,
        {A: (1, 150), B: (10, 30)},
    ),
    (
        {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "17"},
        ReadMaxRows(17),
        1,
        {A: (0, 15), B: (10, 12)},
    ),
    (
        {"startingOffsets": "latest", "minOffsetsPerTrigger": "1000"},
        ReadMinRows(1000),
        1,
        {A: (100, 150), B: (30, 30)},
    ),
]


@pytest.mark.parametrize(("options", "limit", "questions", "first"), FIRST)
def test_the_first_micro_batch_is_repeated_unchanged(
    stream_client: FakeClient,
    options: dict[str, str],
    limit: ReadLimit,
    questions: int,
    first: Ranges,
) -> None:
    made = reader(**options)
    start = made.initialOffset()
    grow = partial(stream_client.logs.update, {A: (0, 150)})
    stream_client.before_responses = [*[lambda: None] * questions, grow]
    end = made.latestOffset(kept(start), limit)
    assert offsets_from_json(end) == {partition: until for partition, (_, until) in first.items()}
    assert planned(made, start, end) == something(first)
    # Its sink fails; the query restarts with more records and another partition.
    stream_client.logs |= {A: (0, 200), C: (0, 5)}
    made = reader(**options)
    assert planned(made, made.initialOffset(), end) == something(first)
    # Later records are in the next micro-batch, and only the first one stores the start.
    following = made.latestOffset(kept(end), ALL)
    assert following == {"t": {"0": 200, "1": 30, "2": 5}}
    assert planned(made, end, following) == something(
        {A: (first[A][1], 200), B: (first[B][1], 30), C: (0, 5)}
    )


def test_without_new_records_the_text_is_the_same(stream_client: FakeClient) -> None:
    made = reader()
    first = made.latestOffset(made.initialOffset(), ALL)
    assert json.dumps(made.latestOffset(kept(first), ALL)) == json.dumps(first)
    stream_client.logs[B] = (10, 31)
    second = made.latestOffset(kept(first), ALL)
    assert json.dumps(made.latestOffset(kept(second), ALL)) == json.dumps(second)
    assert planned(made, first, second) == {B: (30, 31)}


def test_partitions_added_at_start_wait_for_the_second_micro_batch(
    stream_client: FakeClient,
) -> None:
    made = reader(startingOffsets="latest")
    start = made.initialOffset()
    stream_client.before_responses = [partial(stream_client.logs.update, {C: (0, 5)})]
    first = made.latestOffset(start, ALL)
    assert offsets_from_json(first) == {A: 100, B: 30}
    assert planned(reader(startingOffsets="latest"), start, first) == {}
    second = made.latestOffset(kept(first), ALL)
    assert planned(made, first, second) == {C: (0, 5)}


def test_a_query_that_starts_without_topics_reads_later_ones_in_full(
    stream_client: FakeClient,
) -> None:
    there, stream_client.logs = stream_client.logs, {}
    made = reader(startingOffsets="latest")
    start = made.initialOffset()
    first = made.latestOffset(start, ALL)
    stream_client.logs = there | {B: (0, 30)}
    made = reader(startingOffsets="latest")
    assert planned(made, start, first) == {}
    second = made.latestOffset(kept(first), ALL)
    assert planned(made, first, second) == {A: (0, 100), B: (0, 30)}


def test_an_available_now_run_ends_where_the_log_ended_at_its_start(
    stream_client: FakeClient,
) -> None:
    for starting, begin in (("latest", 100), ("earliest", 0)):
        stream_client.logs = {A: (0, 100)}
        made = reader(startingOffsets=starting)
        made.prepareForTriggerAvailableNow()
        # Before the start of the query is resolved.
        stream_client.logs = {A: (0, 150), B: (0, 7)}
        start = made.initialOffset()
        end = made.latestOffset(start, ALL)
        expected = something({A: (begin, 100)})
        assert planned(made, start, end) == expected
        assert made.latestOffset(kept(end), ALL) == kept(end)
        # The next run reads B from its first record.
        made = reader(startingOffsets=starting)
        made.prepareForTriggerAvailableNow()
        assert planned(made, start, end) == expected
        following = made.latestOffset(kept(end), ALL)
        assert planned(made, end, following) == {A: (100, 150), B: (0, 7)}


def test_an_available_now_run_keeps_a_start_beyond_the_end(stream_client: FakeClient) -> None:
    made = reader(startingOffsets='{"t":{"0":500,"1":-1}}')
    made.prepareForTriggerAvailableNow()
    start = made.initialOffset()
    end = made.latestOffset(start, ALL)
    with pytest.raises(DataLossError, match="t-0 was read up to offset 500, but ends at 100 now"):
        planned(made, start, end)


def test_a_first_micro_batch_whose_start_was_stored_by_sparks_source(
    stream_client: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    end = {"t": {"0": 80, "1": 30}}
    stream_client.logs[C] = (0, 5)
    made = reader(startingOffsets="earliest")
    assert planned(made, made.initialOffset(), end) == {A: (0, 80), B: (10, 30)}
    made = reader(startingOffsets="latest")
    with pytest.raises(DataLossError, match=r"does not say where .* latest .* \[t-0, t-1\]"):
        planned(made, made.initialOffset(), end)
    made = reader(startingOffsets="latest", failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        assert planned(made, made.initialOffset(), end) == {}
    assert "does not say where the query started" in caplog.text


def test_a_reader_without_admission_control(stream_client: FakeClient) -> None:
    """PySpark 4.0 and 4.1 ask for the end first, and pass the checkpoint by planning no records."""
    options = {"startingOffsets": '{"t":{"0":-1,"1":-2}}'}
    made = plain(**options)
    end = made.latestOffset()
    start = made.initialOffset()
    assert planned(made, start, end) == {B: (10, 30)}
    assert made.latestOffset() == end
    stream_client.logs |= {A: (0, 150), C: (0, 5)}
    # Restarted before it was committed, and once more after.
    again = plain(**options)
    assert planned(again, end, end) == {}
    assert planned(again, again.initialOffset(), end) == {B: (10, 30)}
    for run in (made, again):
        following = run.latestOffset()
        assert following == {"t": {"0": 150, "1": 30, "2": 5}}
        assert planned(run, end, following) == {A: (100, 150), C: (0, 5)}


def test_group_offsets_are_committed_at_each_trigger(
    stream_client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(
        StreamPlanner, "commit_group_offsets", lambda _, offsets: shown.append(offsets)
    )
    made = plain()
    end = made.latestOffset()
    assert planned(made, made.initialOffset(), end) == {}
    stream_client.logs[A] = (0, 150)
    following = made.latestOffset()
    assert planned(made, end, following) == {A: (100, 150)}
    made.commit(kept(following))
    assert made.latestOffset() == following
    assert shown == [{A: 100, B: 30}, {A: 150, B: 30}, {A: 150, B: 30}]
    newer = reader(startingOffsets="earliest")
    end = newer.latestOffset(newer.initialOffset(), ALL)
    newer.latestOffset(kept(end), ALL)
    assert shown[3:] == [{A: 0, B: 10}, {A: 150, B: 30}]


def test_an_available_now_run_without_admission_control(stream_client: FakeClient) -> None:
    made = plain()
    first = made.latestOffset()
    assert planned(made, made.initialOffset(), first) == {}
    # Later, when the end that is asked for first is not that of a first micro-batch.
    stream_client.logs |= {A: (0, 150), C: (0, 5)}
    made = plain()
    end = made.latestOffset()
    assert planned(made, first, first) == {}
    assert planned(made, first, end) == {A: (100, 150), C: (0, 5)}


def test_options_that_do_not_fit_fail_before_the_first_offsets(
    stream_client: FakeClient,
) -> None:
    wrong = {"startingOffsets": '{"t":{"0":90}}'}
    with pytest.raises(ConfigError, match=r"missing: \[t-1\]"):
        plain(**wrong).latestOffset()
    made = reader(**wrong)
    with pytest.raises(ConfigError, match=r"missing: \[t-1\]"):
        made.latestOffset(made.initialOffset(), ALL)


def something(ranges: Ranges) -> Ranges:
    return {partition: ends for partition, ends in ranges.items() if ends[0] < ends[1]}
