"""Writing with a fake producer: columns, topics, reports of tasks, failures."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    LongType,
    Row,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from ottla.errors import ConfigError
from ottla.spark import OttlaDataSource
from ottla.spark.options.write_options import parse_write_options
from ottla.spark.writing import writer
from ottla.spark.writing.write_report import PartitionWritten, TaskCommitMessage, read_reports
from ottla.spark.writing.write_schema import split_by_topic
from ottla.spark.writing.writer import BatchWriter, RowStreamWriter, make_stream_writer
from tests.spark.sink_schemas import BASE, TO, schema


@dataclass
class FakeDelivery:
    """The delivery of rows written one after the other, or their failure."""

    partition: int
    first: int | None
    count: int
    error: Exception | None = None

    def done(self) -> bool:
        return True

    def written(self) -> list[tuple[int, int | None, int]]:
        if self.error is not None:
            raise self.error
        return [(self.partition, self.first, self.count)]


@dataclass
class FakeProducer:
    """Keeps what is sent; the rows of a call go to one of two partitions."""

    sent: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    flushed: int = 0
    error: Exception | None = None
    knows_offsets: bool = True

    def send_batch(self, topic: str, values: pa.RecordBatch) -> FakeDelivery:
        partition = len(self.sent) % 2
        self.sent.append((topic, values))
        first = self.ends.get((topic, partition), 0)
        self.ends[topic, partition] = first + values.num_rows
        known = first if self.knows_offsets else None
        return FakeDelivery(partition, known, values.num_rows, self.error)

    def flush(self) -> None:
        self.flushed += 1


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> FakeProducer:
    fake = FakeProducer()
    monkeypatch.setattr(writer, "producer_for", lambda _: fake)
    return fake


def batch_writer(text: str, **options: str) -> BatchWriter:
    made = OttlaDataSource({**BASE, **options}).writer(schema(text), overwrite=False)
    assert isinstance(made, BatchWriter)
    return made


def rows(**columns: Sequence[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_the_topic_option_wins_and_other_columns_are_dropped() -> None:
    batch = rows(value=[b"a"], topic=[7], offset=[1], timestamp=[3], partition=[0])
    ((topic, sent),) = split_by_topic(batch, parse_write_options(TO))
    assert topic == "t"
    assert sent.schema.names == ["value", "partition"]
    ((_, sent),) = split_by_topic(batch, parse_write_options({**TO, "includeTimestamp": "true"}))
    assert sent.schema.names == ["value", "partition", "timestamp"]
    assert list(split_by_topic(batch.slice(0, 0), parse_write_options(TO))) == []


def test_rows_of_a_topic_keep_their_order() -> None:
    names = [["b", "a", "c"][i * i % 3] for i in range(100)] + ["c"]
    batch = rows(value=list(range(101)), topic=names)
    got = {
        topic: part["value"].to_pylist()
        for topic, part in split_by_topic(batch, parse_write_options(BASE))
    }
    assert got == {
        name: [i for i, topic in enumerate(names) if topic == name] for name in ("a", "b", "c")
    }
    alone = batch.filter(pa.compute.equal(batch["topic"], "a"))
    ((topic, part),) = split_by_topic(alone, parse_write_options(BASE))
    assert (topic, part["value"].to_pylist()) == ("a", got["a"])


def test_a_null_topic_is_an_error() -> None:
    with pytest.raises(ConfigError, match="null as its topic"):
        list(split_by_topic(rows(value=[b"a", b"b"], topic=["t", None]), parse_write_options(BASE)))


def test_a_task_reports_the_records_written(producer: FakeProducer, tmp_path: Path) -> None:
    path = str(tmp_path / "report")
    made = batch_writer("value binary, topic string", reportPath=path)
    made = pickle.loads(pickle.dumps(made))
    one = rows(value=[b"a", b"b", b"c"], topic=["x", "y", "x"])
    messages = [pickle.loads(pickle.dumps(made.write(iter([one, one])))) for _ in range(2)]
    assert producer.flushed == 2
    # The producer's calls alternate between partitions: x to 0 and y to 1, twice per task.
    assert messages[0] == TaskCommitMessage(
        {("x", 0): PartitionWritten(4, 0, 3), ("y", 1): PartitionWritten(2, 0, 1)}
    )
    made.commit(messages)
    make_stream_writer(
        parse_write_options({**TO, "reportPath": path}), schema("value binary")
    ).commit([TaskCommitMessage()], 7)
    batch, stream = read_reports(path)
    assert batch.partitions == {
        ("x", 0): PartitionWritten(8, 0, 7),
        ("y", 1): PartitionWritten(4, 0, 3),
    }
    assert (batch.records, batch.batch_id) == (12, None)
    assert (stream.records, stream.batch_id, dict(stream.partitions)) == (0, 7, {})


def test_unknown_offsets(producer: FakeProducer, tmp_path: Path) -> None:
    producer.knows_offsets = False
    path = str(tmp_path / "report")
    made = batch_writer("value binary", topic="t", reportPath=path)
    made.commit([made.write(iter([rows(value=[b"a"])]))])
    assert read_reports(path)[0].partitions == {("t", 0): PartitionWritten(1)}


def test_a_failure_fails_the_task_at_once(producer: FakeProducer) -> None:
    producer.error = ConfigError("too large")
    made = batch_writer("value binary", topic="t")
    endless = iter(lambda: rows(value=[b"a"]), None)
    with pytest.raises(ConfigError, match="too large"):
        made.write(endless)
    assert len(producer.sent) == 1


def test_rows_of_a_stream_become_batches(producer: FakeProducer) -> None:
    columns = "key binary, value string, headers headers"
    made = RowStreamWriter(parse_write_options(TO), schema(columns))
    header = Row("key", "value")
    row = Row("key", "value", "headers")
    given = [row(b"k", str(i), [header("h", None)] if i % 2 else None) for i in range(10_003)]
    written = made.write(iter(given))
    assert isinstance(written, TaskCommitMessage)
    assert [batch.num_rows for _, batch in producer.sent] == [10_000, 3]
    last = producer.sent[1][1].to_pylist()
    assert last[1:] == [
        {"key": b"k", "value": "10001", "headers": [{"key": "h", "value": None}]},
        {"key": b"k", "value": "10002", "headers": None},
    ]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_timestamps_in_rows_are_in_the_workers_time_zone(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        kind = TimestampType()
        columns = StructType(
            [
                StructField("value", StringType()),
                StructField("timestamp", kind),
                StructField("other", LongType()),
            ]
        )
        made = RowStreamWriter(parse_write_options({**TO, "includeTimestamp": "true"}), columns)
        row = Row("value", "timestamp", "other")
        # As Spark converts its values to rows, in microseconds.
        moment = kind.fromInternal(1_600_000_000_123_000)
        made.write(iter([row("a", moment, 1), row("b", None, 2)]))
    finally:
        monkeypatch.undo()
        time.tzset()
    ((_, batch),) = producer.sent
    assert batch.schema.names == ["value", "timestamp"]
    assert batch["timestamp"].cast(pa.int64()).to_pylist() == [1_600_000_000_123_000, None]


def test_an_exactly_once_batch_without_an_id_warns_before_it_starts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    once = {**TO, "exactlyOnce": "true"}
    with caplog.at_level(logging.WARNING):
        made = BatchWriter(parse_write_options(once), schema("value string"), overwrite=False)
        (record,) = caplog.records
        named = {**once, "exactlyOnceId": "load-7"}
        BatchWriter(parse_write_options(named), schema("value string"), overwrite=False)
        make_stream_writer(parse_write_options(once), schema("value string"))
    assert made._batch_write is not None
    assert f"exactlyOnceId={made._batch_write.query}" in record.getMessage()
    assert caplog.records == [record]


def test_abort_warns_that_records_stay(caplog: pytest.LogCaptureFixture) -> None:
    made = batch_writer("value binary", topic="t")
    with caplog.at_level(logging.WARNING):
        made.abort([None, TaskCommitMessage()])
        make_stream_writer(parse_write_options(TO), schema("value binary")).abort([None], 3)
    assert "1 of its 2 tasks" in caplog.text
    assert "0 of its 1 tasks" in caplog.text


def test_secrets_appear_nowhere() -> None:
    made = batch_writer("value binary", topic="t", **{"kafka.sasl.password": "hunter2"})
    assert "hunter2" not in repr(made) + repr(vars(made))
