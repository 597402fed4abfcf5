"""Streams from real brokers in real Spark, beside Spark's own source: batches, rows, losses."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException

import ottla
import ottla.spark
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

EPOCH = 1_600_000_000_000
KEEP = {"retention.ms": "-1"}
SOURCES = ("kafka", "ottla")

Row = tuple[str, int, int, str]


@dataclass
class Run:
    """What one run of a query read: rows, and for each micro-batch its end."""

    rows: list[Row]
    ends: list[dict[str, dict[str, int]]]


@dataclass
class Streams:
    """Runs the same query with either source, each with a checkpoint of its own."""

    spark: SparkSession
    kafka: KafkaCluster
    directory: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def start(
        self, source: str, name: str, trigger: dict[str, Any] | None = None, **options: str
    ) -> tuple[StreamingQuery, list[Row], list[int]]:
        named = {key.replace("__", "."): value for key, value in options.items()}
        frame = (
            self.spark.readStream.format(source)
            .options(**{"kafka.bootstrap.servers": self.kafka.bootstrap, **named})
            .load()
            .selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS value")
        )
        rows: list[Row] = []
        batches: list[int] = []

        def keep(batch: Any, number: int) -> None:
            rows.extend(tuple(row) for row in batch.collect())
            batches.append(number)

        query = (
            frame.writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(self.directory / f"{source}-{name}"))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        return query, rows, batches

    def run(self, source: str, name: str, **options: str) -> Run:
        """Read what there is, and end."""
        query, rows, batches = self.start(source, name, **options)
        assert query.awaitTermination(60)
        ends = {p.batchId: json.loads(p.sources[0].endOffset) for p in query.recentProgress}
        return Run(sorted(rows), [ends[number] for number in batches])

    def same(self, name: str, **options: str) -> Run:
        """Both sources read the same rows in the same micro-batches."""
        theirs, ours = (self.run(source, name, **options) for source in SOURCES)
        assert ours.ends == theirs.ends
        assert ours.rows == theirs.rows
        return ours

    def same_error(self, name: str, words: list[str], **options: str) -> None:
        """Both sources refuse, when the query is built, started or run."""
        for source in SOURCES:
            with pytest.raises((PySparkException, Py4JJavaError)) as caught:
                self.run(source, name, **options)
            message = str(caught.value).lower()
            assert [word for word in words if word.lower() not in message] == [], source


@pytest.fixture
def streams(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> Streams:
    return Streams(spark, kafka, tmp_path)


def produce(kafka: KafkaCluster, topic: str, *counts: int, timestamp: int | None = None) -> None:
    """So many records to partition 0, to partition 1, and so on."""
    with ottla.Producer(kafka.bootstrap) as producer:
        for partition, count in enumerate(counts):
            times = None if timestamp is None else [timestamp + i * 1000 for i in range(count)]
            producer.send_batch(
                topic, ["x"] * count, partitions=[partition] * count, timestamps=times
            )


def add_partitions(kafka: KafkaCluster, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(topic, total)])[topic].result()
    for partition in range(total):
        kafka.wait_for_isr(topic, partition)


@pytest.fixture
def events(kafka: KafkaCluster) -> str:
    """Records in partitions 0 to 2, one each second; partition 3 is empty. Made once."""
    topic = "stream-events"
    if kafka.leader_of(topic) < 0:
        kafka.create_topic(topic, partitions=4, config=KEEP)
        produce(kafka, topic, 1000, 300, 7, timestamp=EPOCH)
    return topic


def at(*values: int) -> str:
    return json.dumps({"stream-events": {str(i): value for i, value in enumerate(values)}})


@pytest.mark.parametrize(
    ("options", "rows", "batches"),
    [
        ({"startingOffsets": "earliest"}, 1307, 1),
        # Shares in proportion, and one offset at least for the small one.
        ({"startingOffsets": "earliest", "maxOffsetsPerTrigger": "400"}, 1307, 4),
        ({"startingOffsets": at(990, -2, -1, 0), "maxOffsetsPerTrigger": "100"}, 310, 4),
        ({"startingTimestamp": str(EPOCH + 5_000)}, None, None),
        (
            {
                "startingTimestamp": str(EPOCH + 5_000),
                "startingOffsetsByTimestampStrategy": "latest",
            },
            1292,
            1,
        ),
        (
            {"startingOffsetsByTimestamp": at(*[EPOCH + 6_000] * 3, 1), "minPartitions": "9"},
            None,
            None,
        ),
        (
            {
                "startingOffsetsByTimestamp": at(*[EPOCH + 6_000] * 3, 1),
                "startingOffsetsByTimestampStrategy": "latest",
                "startingOffsets": "nonsense that lost",
                "minPartitions": "9",
            },
            1289,
            1,
        ),
        (
            {
                "startingOffsets": "earliest",
                "minOffsetsPerTrigger": "1000",
                "maxTriggerDelay": "1h",
                "maxRecordsPerPartition": "50",
            },
            1307,
            1,
        ),
        ({"assign": '{"stream-events":[2,3]}', "startingOffsets": "earliest"}, 7, 1),
    ],
)
def test_options(
    streams: Streams,
    events: str,
    options: dict[str, str],
    rows: int | None,
    batches: int | None,
) -> None:
    if "assign" not in options:
        options = {"subscribe": events, **options}
    if rows is None:
        streams.same_error("options", ["timestamp"], **options)
        return
    run = streams.same("options", **options)
    assert (len(run.rows), len(run.ends)) == (rows, batches)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endingOffsets": "latest"}, ["ending", "not valid in", "stream"]),
        ({"endingOffsetsByTimestamp": at(1, 1, 1, 1)}, ["ending", "not valid in", "stream"]),
        ({"startingOffsets": at(0)}, ["stream-events-3"]),
        ({"startingOffsets": "first"}, ["first"]),
        ({"minOffsetsPerTrigger": "2", "maxOffsetsPerTrigger": "1"}, ["2", "1", "higher"]),
        ({"maxOffsetsPerTrigger": "many"}, ["many"]),
        ({"maxTriggerDelay": "soon", "minOffsetsPerTrigger": "1"}, ["soon"]),
        ({"minPartitions": "0"}, ["minPartitions"]),
        ({"startingOffsets": at(5000, 0, 0, 0)}, ["stream-events-0", "5000", "1000"]),
    ],
)
def test_errors(streams: Streams, events: str, options: dict[str, str], words: list[str]) -> None:
    options = {"fetchOffset__retryIntervalMs": "10", **options}
    streams.same_error("errors", words, subscribe=events, **options)


def test_an_end_by_timestamp_is_refused_too(streams: Streams, events: str) -> None:
    # Spark's source passes over this one.
    with pytest.raises(PySparkException, match="endingTimestamp is not valid in a streaming query"):
        streams.run("ottla", "refused", subscribe=events, endingTimestamp="1")


def test_restarts_new_partitions_and_new_topics(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=1)
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    produce(kafka, topic, 5)
    assert len(streams.same("grows", **options).rows) == 5
    # Nothing is new.
    assert streams.same("grows", **options).ends == []
    add_partitions(kafka, topic, 3)
    kafka.create_topic(f"{topic}-2")
    produce(kafka, topic, 1, 10, 20)
    produce(kafka, f"{topic}-2", 30)
    run = streams.same("grows", maxOffsetsPerTrigger="40", **options)
    assert (len(run.rows), len(run.ends)) == (61, 2)
    assert run.ends[-1] == {topic: {"0": 6, "1": 10, "2": 20}, f"{topic}-2": {"0": 30}}


def test_a_checkpoint_of_sparks_source_goes_on(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 5, 6)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    assert len(streams.run("kafka", "moved", **options).rows) == 11
    produce(kafka, topic, 1, 2)
    (streams.directory / "kafka-moved").rename(streams.directory / "ottla-moved")
    run = streams.run("ottla", "moved", **options)
    assert [row[1:3] for row in run.rows] == [(0, 5), (1, 6), (1, 7)]


@pytest.mark.parametrize("keeps", ["true", "false"])
def test_topics_deleted_and_made_anew(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory, keeps: str
) -> None:
    topic, other = kafka_topic(), kafka_topic()
    options = {
        "subscribePattern": f"^({topic}|{other})$",
        "startingOffsets": "earliest",
        "failOnDataLoss": keeps,
        "fetchOffset__retryIntervalMs": "10",
    }
    produce(kafka, topic, 50)
    produce(kafka, other, 5)
    streams.same("made-anew", **options)
    kafka.delete_topic(topic)
    kafka.create_topic(topic)
    produce(kafka, topic, 10)
    produce(kafka, other, 5)
    if keeps == "true":
        streams.same_error("made-anew", [f"{topic}-0", "50", "10"], **options)
        return
    # What the new log holds below the old offset is passed over by both.
    run = streams.same("made-anew", **options)
    assert {row[0] for row in run.rows} == {other}
    produce(kafka, topic, 3)
    assert [row[:3] for row in streams.same("made-anew", **options).rows] == [
        (topic, 0, offset) for offset in (10, 11, 12)
    ]
    kafka.delete_topic(topic)
    produce(kafka, other, 5)
    assert len(streams.same("made-anew", **options).rows) == 5


def test_a_live_stream(streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 3, 3)
    query, rows, _ = streams.start(
        "ottla",
        "live",
        {"processingTime": "100 milliseconds"},
        subscribe=topic,
        minOffsetsPerTrigger="50",
        maxTriggerDelay="1h",
    )

    def until(condition: Callable[[], bool]) -> None:
        def checked() -> bool:
            assert query.exception() is None, query.exception()
            return condition()

        wait_until(checked, lambda: f"{len(rows)} rows; {query.lastProgress}", 60)

    try:
        # It starts at the end, and what it started with is its first progress.
        until(lambda: query.lastProgress is not None)
        produce(kafka, topic, 20, 20)
        until(lambda: query.lastProgress.sources[0].latestOffset is not None)
        time.sleep(1)
        # The first trigger is never held back, but this one is.
        held = len(rows)
        assert held in (0, 40)
        produce(kafka, topic, 30, 30)
        until(lambda: len(rows) == 100)
        until(lambda: ottla.spark.lag(query.lastProgress).total == 0)
        add_partitions(kafka, topic, 3)
        produce(kafka, topic, 0, 0, 60)
        until(lambda: len(rows) == 160)
        assert sorted(row[2] for row in rows if row[1] == 2) == list(range(60))
    finally:
        query.stop()


def test_bytes_a_trigger(streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap, compression_type="zstd") as producer:
        producer.send_batch(topic, ["x" * 1000] * 1000)
    run = streams.run(
        "ottla", "bytes", subscribe=topic, startingOffsets="earliest", maxBytesPerTrigger="300000"
    )
    assert len(run.rows) == 1000
    # Records of 1000 bytes and a little more: some 290 at a time.
    assert len(run.ends) == 4
    # Within a record's size of what is asked for, one at a time is the least.
    run = streams.run(
        "ottla",
        "one",
        assign=f'{{"{topic}":[0]}}',
        startingOffsets=f'{{"{topic}":{{"0":998}}}}',
        maxBytesPerTrigger="1",
    )
    assert [end[topic]["0"] for end in run.ends] == [999, 1000]


def test_progress_shows_as_a_consumer_group(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 30, 20)
    options = {"subscribe": topic, "startingOffsets": "earliest", "commitGroupId": f"{topic}-g"}
    streams.run("ottla", "shown", maxOffsetsPerTrigger="20", **options)
    with ottla.Admin(kafka.bootstrap) as admin:
        shown = admin.list_consumer_group_offsets(f"{topic}-g")
        assert shown == {(topic, 0): 30, (topic, 1): 20}
        assert admin.list_consumer_group_offsets("nobody") == {}
    produce(kafka, topic, 5)
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    arguments = ("--bootstrap-server", kafka.bootstrap, "--describe", "--group", f"{topic}-g")
    lines = [line.split() for line in kafka.run_tool(tool, *arguments).splitlines()]
    told = {line[2]: line[3:6] for line in lines if len(line) > 5 and line[1] == topic}
    assert told == {"0": ["30", "35", "5"], "1": ["20", "20", "0"]}


def test_a_stream_that_fails_says_why(
    streams: Streams, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    produce(kafka, topic, 10)
    streams.run("ottla", "lost", subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":2}}}}')
    produce(kafka, topic, 10)
    kafka.delete_records(topic, 0, 15)
    with pytest.raises(StreamingQueryException, match="DataLossError") as caught:
        streams.run("ottla", "lost", subscribe=topic)
    assert "10" in str(caught.value)
    assert "15" in str(caught.value)
    run = streams.run("ottla", "lost", subscribe=topic, failOnDataLoss="false")
    assert [row[2] for row in run.rows] == list(range(15, 20))
