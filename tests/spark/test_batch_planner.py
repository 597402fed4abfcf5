"""Planning and reading a batch with a fake client: partitions, offsets, data loss, retries."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from ottla import errors
from ottla._internal.planning.offset_range import OffsetRange
from ottla.errors import ConfigError, DataLossError, KafkaError, UnknownTopicError
from ottla.spark import OttlaDataSource
from ottla.spark.options.read_options import parse_batch_options
from ottla.spark.planning import batch_planner
from ottla.spark.reading import batch_reader, partition_reader
from ottla.spark.reading.batch_reader import BatchReader
from ottla.spark.reading.partition_reader import OffsetRangesPartition
from ottla.spark.reading.schema import arrow_schema, full_schema
from tests.spark.fake_client import FakeClient


def plan(client: FakeClient, **options: str) -> list[OffsetRange]:
    base = {"kafka.bootstrap.servers": "b:1"}
    if not {"assign", "subscribePattern"} & options.keys():
        base["subscribe"] = "t"
    named = {name.replace("__", "."): value for name, value in options.items()}
    return batch_planner.plan_batch(client, parse_batch_options({**base, **named}))


def ends(ranges: list[OffsetRange]) -> list[tuple[str, int, int, int]]:
    return [(part.topic, part.partition, part.start, part.end) for part in ranges]


def log_of(*ends: tuple[int, int]) -> FakeClient:
    return FakeClient({("t", number): end for number, end in enumerate(ends)})


def test_everything_by_default_with_leader_hints() -> None:
    client = log_of((3, 10), (0, 5), (0, 7), (4, 4))
    assert plan(client) == [
        OffsetRange("t", 0, 3, 10, "one:9092", True),
        OffsetRange("t", 1, 0, 5, "[::2]:9092", True),
        OffsetRange("t", 2, 0, 7, None, True),
    ]
    assert client.isolation == {"read_uncommitted"}


def test_isolation_level_applies_to_offsets() -> None:
    client = log_of((0, 1))
    plan(client, kafka__isolation__level="read_committed")
    assert client.isolation == {"read_committed"}


def test_pattern_matches_anywhere_and_skips_internal_topics() -> None:
    logs = {(name, 0): (0, 1) for name in ("a-1", "a-10", "b-a-1", "__offsets-a-1", "other")}
    client = FakeClient(logs, internal={"__offsets-a-1"})
    found = plan(client, subscribePattern="a-1")
    assert [part.topic for part in found] == ["a-1", "a-10", "b-a-1"]
    found = plan(client, subscribePattern="^a-1$")
    assert [part.topic for part in found] == ["a-1"]
    assert plan(client, subscribePattern="nothing") == []


def test_internal_topic_is_not_read_even_by_name() -> None:
    assert plan(FakeClient({("t", 0): (0, 9)}, internal={"t"})) == []


def test_assign_reads_existing_partitions(caplog: pytest.LogCaptureFixture) -> None:
    client = log_of((0, 1), (0, 2))
    with caplog.at_level(logging.WARNING):
        assert ends(plan(client, assign='{"t":[1,7]}')) == [("t", 1, 0, 2)]
    assert "[t-7]" in caplog.text


def test_unknown_topic_is_an_error() -> None:
    client = log_of((0, 1))
    with pytest.raises(UnknownTopicError, match="no such topic: gone"):
        plan(client, assign='{"gone":[0],"t":[0]}')
    assert client.timeouts == [5.0]


def test_a_slow_cluster_has_the_configured_timeout() -> None:
    client = log_of((0, 1))
    client.slow_cluster = True
    assert len(plan(client)) == 1
    assert client.timeouts == [5.0, None]
    with pytest.raises(errors.TimeoutError):
        plan(client, kafka__default__api__timeout__ms="1500")
    assert client.timeouts[2:] == [1.5]


def test_a_topic_of_a_pattern_deleted_during_planning_of_a_batch() -> None:
    client = log_of((3, 10))
    client.listed_once = {"t-gone"}
    options = {"subscribePattern": "^t", "fetchOffset__retryIntervalMs": "0"}
    assert ends(plan(client, **options)) == [("t", 0, 3, 10)]
    client.logs["t-going", 0] = (0, 5)
    client.before_responses = [lambda: client.logs.pop(("t-going", 0))]
    assert ends(plan(client, **options)) == [("t", 0, 3, 10)]
    # A named topic that is missing is an error.
    client.logs["u", 0] = (0, 5)
    client.before_responses = [lambda: client.logs.pop(("u", 0))]
    with pytest.raises(UnknownTopicError):
        plan(client, subscribe="t,u", fetchOffset__retryIntervalMs="0")


def test_specific_offsets_and_sentinels() -> None:
    client = log_of((3, 10), (3, 10))
    got = plan(
        client,
        startingOffsets='{"t":{"0":5,"1":-2}}',
        endingOffsets='{"t":{"0":9,"1":-1}}',
    )
    assert ends(got) == [("t", 0, 5, 9), ("t", 1, 3, 10)]


@pytest.mark.parametrize("option", ["startingOffsets", "startingOffsetsByTimestamp"])
def test_exactly_the_partitions_read_must_be_named(option: str) -> None:
    client = log_of((0, 10), (0, 10))
    with pytest.raises(ConfigError, match=rf"{option} must .*missing: \[t-1\], not read: \[t-2\]"):
        plan(client, **{option: '{"t":{"0":5,"2":5}}'})


def test_timestamps() -> None:
    client = log_of((3, 10), (0, 20))
    assert ends(plan(client, startingTimestamp="5", endingTimestamp="8")) == [
        ("t", 0, 5, 8),
        ("t", 1, 5, 8),
    ]
    by_partition = '{"t":{"0":4,"1":6}}'
    assert ends(plan(client, startingOffsetsByTimestamp=by_partition, endingTimestamp="15")) == [
        ("t", 0, 4, 10),
        ("t", 1, 6, 15),
    ]


def test_timestamp_without_a_match() -> None:
    client = log_of((3, 10), (0, 20))
    with pytest.raises(ConfigError, match="t-0 has no record at or after timestamp 15"):
        plan(client, startingTimestamp="15")
    got = plan(client, startingTimestamp="15", startingOffsetsByTimestampStrategy="latest")
    assert ends(got) == [("t", 1, 15, 20)]
    assert ends(plan(client, endingTimestamp="1000")) == [("t", 0, 3, 10), ("t", 1, 0, 20)]


def test_start_after_end() -> None:
    with pytest.raises(ConfigError, match="t-0 was to be read from offset 11"):
        plan(log_of((0, 10)), startingOffsets='{"t":{"0":11}}')
    with pytest.raises(ConfigError, match="t-0 was to be read from offset 8"):
        plan(log_of((0, 10)), startingTimestamp="8", endingTimestamp="7")


def test_end_beyond_the_log_never_waits(caplog: pytest.LogCaptureFixture) -> None:
    client = log_of((0, 10))
    beyond = '{"t":{"0":12}}'
    with pytest.raises(DataLossError, match="up to offset 12, but its log ends at 10"):
        plan(client, endingOffsets=beyond)
    with caplog.at_level(logging.WARNING):
        assert ends(plan(client, endingOffsets=beyond, failOnDataLoss="false")) == [("t", 0, 0, 10)]
    assert "log ends at 10" in caplog.text
    start = '{"t":{"0":11}}'
    assert plan(client, startingOffsets=start, endingOffsets=beyond, failOnDataLoss="false") == []


def test_splitting_keeps_the_leader_hint_and_the_earliest_flag() -> None:
    got = plan(log_of((0, 10)), minPartitions="2")
    assert got == [
        OffsetRange("t", 0, 0, 5, "one:9092", True),
        OffsetRange("t", 0, 5, 10, "one:9092", True),
    ]


class PassingError(KafkaError):
    retriable = True

    def __init__(self) -> None:
        Exception.__init__(self, "passing")


def test_retriable_errors_are_retried() -> None:
    fast = {"fetchOffset__retryIntervalMs": "0"}
    client = log_of((0, 1))
    client.failures = [PassingError(), PassingError()]
    assert len(plan(client, **fast)) == 1
    client.failures = [PassingError(), PassingError()]
    with pytest.raises(PassingError):
        plan(client, fetchOffset__numRetries="2", **fast)
    late = errors.TimeoutError("listing offsets did not succeed within 60000 ms")
    late.retriable = True
    client.failures = [late, PassingError()]
    with pytest.raises(errors.TimeoutError):
        plan(client, **fast)
    client.failures = [ConfigError("lasting"), PassingError()]
    with pytest.raises(ConfigError, match="lasting"):
        plan(client, **fast)


def reader_of(client: FakeClient, monkeypatch: pytest.MonkeyPatch, **options: str) -> BatchReader:
    for module in (batch_reader, partition_reader):
        monkeypatch.setattr(module, "client_for", lambda *_, **__: client)
    source = OttlaDataSource({"kafka.bootstrap.servers": "b:1", "subscribe": "t", **options})
    reader = source.reader(source.schema())
    assert isinstance(reader, BatchReader)
    return reader


def test_reader_yields_batches_in_sparks_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    client = log_of((0, 4), (2, 2))
    reader = reader_of(client, monkeypatch, includeHeaders="true", failOnDataLoss="false")
    (partition,) = pickle.loads(pickle.dumps(reader.partitions()))
    batches = list(pickle.loads(pickle.dumps(reader)).read(partition))
    assert [type(batch) for batch in batches] == [pa.RecordBatch] * 2
    assert batches[0].schema == arrow_schema(full_schema(include_headers=True))
    assert client.scan_requests == [{"ranges": [("t", 0, 0, 4)], "headers": True, "fail": False}]
    assert client.scans[0].closed


def test_a_task_loads_no_planner_and_no_writer() -> None:
    source = OttlaDataSource({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    partition = partition_reader.OffsetRangesPartition((OffsetRange("t", 0, 0, 4),))
    for reader in (source.reader(source.schema()), source.streamReader(source.schema())):
        needed = pickle.dumps((reader, partition))
        assert loaded_by(f"import pickle; pickle.loads({needed!r})") == {
            *(
                "ottla",
                "ottla._core",
                "ottla.errors",
                "ottla._internal",
                "ottla._internal.extras",
                "ottla._internal.loading",
                "ottla.spark",
                "ottla.spark.reading",
            ),
            *(
                "ottla.spark.clients",
                "ottla._internal.planning",
                "ottla._internal.planning.offset_range",
                "ottla.spark.reading.schema",
            ),
            *("ottla.spark.reading.partition_reader", "ottla._internal.stderr_log"),
        }


def test_a_schema_loads_no_reader_and_no_writer() -> None:
    options = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}
    loaded = loaded_by(f"import pyspark_ottla; pyspark_ottla.DefaultSource({options}).schema()")
    assert "ottla.spark.reading.schema" in loaded
    assert not loaded & {
        "ottla.spark.clients",
        "ottla.spark.planning",
        "ottla.spark.reading.batch_reader",
        "ottla.spark.reading.stream_reader",
        "ottla.spark.writing",
    }


def loaded_by(code: str) -> set[str]:
    """Return the modules of ottla that a new process has loaded after some code, and asyncio."""
    show = "import sys; print(*(m for m in sys.modules if m.split('.')[0] in ('ottla', 'asyncio')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_an_abandoned_read_closes_its_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    client = log_of((0, 4))
    reader = reader_of(client, monkeypatch)
    batches = reader.read(reader.partitions()[0])
    next(batches)
    del batches
    assert client.scans[0].closed


def test_an_empty_plan_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of(log_of((0, 0)), monkeypatch)
    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


def test_wrong_options_and_schemas_fail_before_anything_connects() -> None:
    source = OttlaDataSource({"kafka.bootstrap.servers": "b:1"})
    with pytest.raises(ConfigError, match="one of the options"):
        source.schema()
    source = OttlaDataSource({"kafka.bootstrap.servers": "b:1", "subscribe": "t"})
    with pytest.raises(ConfigError, match="schema is empty"):
        source.reader(StructType())


def test_partitions_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = reader_of(log_of((0, 4)), monkeypatch, **{"kafka.sasl.password": "hunter2"})
    assert "hunter2" not in repr(reader.partitions()) + repr(reader)
    assert isinstance(reader.partitions()[0], OffsetRangesPartition)
