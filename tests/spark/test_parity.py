"""Parity: the same options give the same rows, or errors, as Spark's own Kafka connector.

Every topic is written by one client and read by both, so each is the other's oracle.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql.types import IntegerType, Row, StructType

import ottla
from ottla.spark.schema import full_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
EPOCH = 1_600_000_000_000
# Or retention would delete records that are as old as these say they are.
KEEP = {"retention.ms": "-1"}
Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Message:
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int


def awkward_messages() -> list[Message]:
    """What records can be: null, empty, large; their headers too, and repeated."""
    big = random.Random(1).randbytes(1_000_000)
    messages = [
        Message(b"k", b"v", [], 0),
        Message(None, b"no key", [], 1),
        Message(b"no value", None, [("h", b"1")], 0),
        Message(None, None, [], 1),
        Message(b"", b"", [("", b"")], 0),
        Message(b"\x00\xff", "grüße ✓".encode(), [("naïve ✓", b"\x00\xff"), ("null", None)], 1),
        Message(b"dup", b"dup", [("a", b"1"), ("b", b"2"), ("a", b"3"), ("a", None)], 0),
        Message(b"big", big, [("big", big[:1000])], 1),
    ]
    return messages + [Message(b"k%d" % i, b"v%d" % i * 10, [], i % 2) for i in range(500)]


def options_of(kafka: KafkaCluster, **options: str) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": kafka.bootstrap,
        **{name.replace("__", "."): value for name, value in options.items()},
    }


def load(spark: SparkSession, source: str, kafka: KafkaCluster, **options: str) -> DataFrame:
    return spark.read.format(source).options(**options_of(kafka, **options)).load()


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def same_rows(spark: SparkSession, kafka: KafkaCluster, **options: str) -> list[Row]:
    """The rows that both clients read with these options, with headers, in order."""
    options.setdefault("includeHeaders", "true")
    theirs = in_order(load(spark, "kafka", kafka, **options).collect())
    ours = in_order(load(spark, "ottla", kafka, **options).collect())
    # Not one assert on both lists: a failure would print megabytes.
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert our == their
    return ours


def content(row: Row) -> tuple[object, ...]:
    headers = [(h["key"], _bytes(h["value"])) for h in row["headers"] or []]
    return _bytes(row["key"]), _bytes(row["value"]), headers, row["partition"]


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def expected_content(messages: list[Message]) -> list[tuple[object, ...]]:
    by_partition = sorted(messages, key=lambda message: message.partition)
    return [(m.key, m.value, m.headers, m.partition) for m in by_partition]


def produce(kafka: KafkaCluster, topic: str, messages: list[Message], **config: Any) -> None:
    with ottla.Producer(kafka.bootstrap, **config) as producer:
        for m in messages:
            producer.send(topic, value=m.value, key=m.key, headers=m.headers, partition=m.partition)
        producer.flush()


@pytest.mark.parametrize("codec", CODECS)
def test_written_by_ottla(spark: SparkSession, kafka: KafkaCluster, codec: str) -> None:
    topic = f"parity-ottla-{codec}"
    kafka.create_topic(topic, partitions=2)
    messages = awkward_messages()
    produce(kafka, topic, messages, compression_type=codec)
    rows = same_rows(spark, kafka, subscribe=topic)
    assert [content(row) for row in rows] == expected_content(messages)
    assert {row["timestampType"] for row in rows} == {0}
    assert {row["headers"] is None for row in rows} == {True, False}


@pytest.mark.parametrize("codec", CODECS)
def test_written_by_spark(spark: SparkSession, kafka: KafkaCluster, codec: str) -> None:
    topic = f"parity-spark-{codec}"
    kafka.create_topic(topic, partitions=2)
    messages = awkward_messages()
    schema = StructType([full_schema(include_headers=True)[n] for n in ("key", "value", "headers")])
    schema = schema.add("partition", IntegerType())
    data = [(m.key, m.value, m.headers or None, m.partition) for m in messages]
    frame = spark.createDataFrame(data, schema).coalesce(1)
    frame.write.format("kafka").options(
        **options_of(kafka, topic=topic, includeHeaders="true", **{"kafka.compression.type": codec})
    ).save()
    rows = same_rows(spark, kafka, subscribe=topic)
    assert [content(row) for row in rows] == expected_content(messages)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_timestamps(spark: SparkSession, kafka: KafkaCluster, kind: str) -> None:
    topic = f"parity-{kind}"
    kafka.create_topic(topic, config={"message.timestamp.type": kind, **KEEP})
    with ottla.Producer(kafka.bootstrap) as producer:
        for timestamp in (0, 1, EPOCH + 123, EPOCH - 5, EPOCH + 456):
            producer.send(topic, value=b"v", timestamp=timestamp)
        producer.flush()
    rows = same_rows(spark, kafka, subscribe=topic)
    milliseconds = [round(row["timestamp"].timestamp() * 1000) for row in rows]
    if kind == "CreateTime":
        assert {row["timestampType"] for row in rows} == {0}
        assert milliseconds == [0, 1, EPOCH + 123, EPOCH - 5, EPOCH + 456]
    else:
        assert {row["timestampType"] for row in rows} == {1}
        assert all(abs(ms / 1000 - time.time()) < 60 for ms in milliseconds)


def test_compacted_topic(spark: SparkSession, kafka: KafkaCluster) -> None:
    topic = "parity-compacted"
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "max.compaction.lag.ms": "100",
    }
    kafka.create_topic(topic, config=config)
    for _ in range(3):
        produce(kafka, topic, [Message(b"k%d" % (i % 7), b"v%d" % i, [], 0) for i in range(100)])
        # The next append closes the segment, and only closed segments are compacted.
        time.sleep(0.2)
    produce(kafka, topic, [Message(b"last", b"", [], 0)])
    deadline = time.monotonic() + 60
    while (count := load(spark, "kafka", kafka, subscribe=topic).count()) == 301:
        assert time.monotonic() < deadline, "the broker did not compact the topic"
        time.sleep(0.5)
    assert count < 301
    # Until compaction is over, the two readers may see different logs.
    time.sleep(1)
    rows = same_rows(spark, kafka, subscribe=topic)
    assert rows[-1]["offset"] == 300
    same_rows(spark, kafka, subscribe=topic, minPartitions="5")
    inside_a_gap = f'{{"{topic}":{{"0":150}}}}'
    same_rows(spark, kafka, subscribe=topic, startingOffsets=inside_a_gap)


@pytest.fixture
def events(kafka: KafkaCluster) -> str:
    """300 records in partitions 0 to 2, one each second; partition 3 is empty. Made once."""
    topic = "parity-events"
    if kafka.leader_of(topic) >= 0:
        return topic
    kafka.create_topic(topic, partitions=4, config=KEEP)
    kafka.create_topic(f"{topic}-2")
    with ottla.Producer(kafka.bootstrap) as producer:
        for i in range(300):
            producer.send(
                topic,
                value=b"%d" % i,
                key=b"k",
                partition=i % 3,
                timestamp=EPOCH + i * 1000,
                headers=[("i", b"%d" % i)] if i % 2 else None,
            )
        producer.send(f"{topic}-2", value=b"x")
        producer.flush()
    return topic


def per_partition(*values: int) -> str:
    inside = ",".join(f'"{number}":{value}' for number, value in enumerate(values))
    return f'{{"parity-events":{{{inside}}}}}'


ALL = {"subscribe": "parity-events"}
LATE = per_partition(*[EPOCH + 200_000] * 3, EPOCH)


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (ALL, 300),
        ({"subscribe": "parity-events, parity-events-2"}, 301),
        ({"assign": '{"parity-events":[0,2,3]}'}, 200),
        ({"assign": '{"parity-events":[0,9]}'}, 100),
        ({"subscribePattern": "parity-event."}, 301),
        ({"subscribePattern": "ty-events$"}, 300),
        ({"subscribePattern": "nothing-matches"}, 0),
        ({**ALL, "includeHeaders": "false"}, 300),
        ({**ALL, "startingOffsets": per_partition(10, -2, 100, 0)}, 190),
        ({**ALL, "endingOffsets": per_partition(10, -1, 0, 0)}, 110),
        (
            {
                **ALL,
                "startingOffsets": per_partition(5, 6, 7, -2),
                "endingOffsets": per_partition(5, 16, -1, -1),
            },
            103,
        ),
        ({**ALL, "endingTimestamp": str(EPOCH + 100_000)}, 100),
        ({**ALL, "endingTimestamp": str(EPOCH + 10_000_000)}, 300),
        ({**ALL, "endingOffsetsByTimestamp": per_partition(EPOCH, EPOCH + 30_000, 1, 1)}, 10),
        (
            {
                **ALL,
                "startingTimestamp": str(EPOCH + 200_000),
                "startingOffsetsByTimestampStrategy": "latest",
            },
            100,
        ),
        (
            {
                **ALL,
                "startingOffsetsByTimestamp": LATE,
                "startingOffsetsByTimestampStrategy": "latest",
                "endingTimestamp": str(EPOCH + 250_000),
            },
            50,
        ),
        ({**ALL, "startingOffsets": "earliest", "startingTimestamp": "0"}, None),
        ({**ALL, "minPartitions": "11"}, 300),
        ({**ALL, "maxRecordsPerPartition": "7"}, 300),
        ({**ALL, "minPartitions": "20", "maxRecordsPerPartition": "30"}, 300),
        ({**ALL, "failOnDataLoss": "false", "kafka__isolation__level": "read_committed"}, 300),
        ({**ALL, "maxOffsetsPerTrigger": "5", "groupIdPrefix": "mine"}, 300),
    ],
)
def test_options(
    spark: SparkSession,
    kafka: KafkaCluster,
    events: str,
    options: dict[str, str],
    count: int | None,
) -> None:
    if count is None:
        same_error(spark, kafka, options, ["timestamp"])
    else:
        assert len(same_rows(spark, kafka, **options)) == count


@pytest.mark.parametrize(
    "options",
    [
        {"minPartitions": "11"},
        # With the ends of the log given as such, Spark's batch source passes over this option.
        {
            "maxRecordsPerPartition": "7",
            "startingOffsets": '{"parity-events":{"0":0,"1":1,"2":2}}',
            "endingOffsets": '{"parity-events":{"0":100,"1":100,"2":12}}',
        },
        {"minPartitions": "20", "maxRecordsPerPartition": "30"},
    ],
)
def test_number_of_tasks(
    spark: SparkSession, kafka: KafkaCluster, events: str, options: dict[str, str]
) -> None:
    options = {"assign": '{"parity-events":[0,1,2]}', **options}
    theirs, ours = (
        load(spark, source, kafka, **options).rdd.getNumPartitions()
        for source in ("kafka", "ottla")
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "columns",
    [
        ["value"],
        ["offset", "value"],
        ["timestampType", "topic", "timestamp", "partition"],
        ["headers", "key"],
        ["headers", "timestampType", "timestamp", "offset", "partition", "topic", "value", "key"],
    ],
)
def test_projection(
    spark: SparkSession, kafka: KafkaCluster, events: str, columns: list[str]
) -> None:
    full = full_schema(include_headers=True)
    ours = (
        spark.read.format("ottla")
        .schema(StructType([full[name] for name in columns]))
        .options(**options_of(kafka, **ALL))
        .load()
    )
    assert ours.columns == columns
    theirs = load(spark, "kafka", kafka, includeHeaders="true", **ALL).select(*columns)
    assert sorted(map(repr, ours.collect())) == sorted(map(repr, theirs.collect()))


def same_error(
    spark: SparkSession, kafka: KafkaCluster, options: dict[str, str], words: list[str]
) -> None:
    """Both refuse, at load or at the first action, for a reason that has these words in it."""
    for source in ("kafka", "ottla"):
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            load(spark, source, kafka, **options).count()
        message = str(caught.value).lower()
        assert [word for word in words if word.lower() not in message] == [], source


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["subscribe", "assign", "subscribePattern"]),
        ({**ALL, "assign": '{"a":[0]}'}, ["only one of", "subscribe", "assign"]),
        ({"subscribe": " "}, ["subscribe"]),
        ({"subscribePattern": " "}, ["pattern", "empty"]),
        ({"assign": "parity-events"}, ["assign"]),
        ({"assign": '{"parity-events":0}'}, ["topicA"]),
        ({"subscribe": "no-such-topic", "fetchOffset__numRetries": "1"}, ["topic"]),
        ({**ALL, "minPartitions": "0"}, ["minPartitions"]),
        ({**ALL, "maxRecordsPerPartition": "-5"}, ["maxRecordsPerPartition"]),
        ({**ALL, "startingOffsets": "latest"}, ["starting", "can't be", "latest", "batch"]),
        ({**ALL, "endingOffsets": "earliest"}, ["ending", "can't be", "earliest", "batch"]),
        ({**ALL, "startingOffsets": per_partition(-1, 0, 0, 0)}, ["parity-events-0", "latest"]),
        ({**ALL, "endingOffsets": per_partition(-2, 0, 0, 0)}, ["parity-events-0", "earliest"]),
        ({**ALL, "startingOffsets": per_partition(0)}, ["parity-events-1"]),
        ({**ALL, "startingOffsets": "first"}, ["topicA", "first"]),
        ({**ALL, "startingTimestamp": "soon"}, ["soon"]),
        ({**ALL, "startingTimestamp": str(EPOCH * 2)}, ["parity-events-", str(EPOCH * 2)]),
        ({**ALL, "startingOffsetsByTimestampStrategy": "maybe", "startingTimestamp": "1"}, []),
        (
            {
                **ALL,
                "startingOffsets": per_partition(9, 0, 0, 0),
                "endingOffsets": per_partition(8, 0, 0, 0),
            },
            ["9", "8", "greater"],
        ),
        ({**ALL, "startingOffsets": per_partition(101, 0, 0, 0)}, ["101", "100"]),
        ({**ALL, "minOffsetsPerTrigger": "2", "maxOffsetsPerTrigger": "1"}, ["2", "1", "higher"]),
        ({**ALL, "kafka__auto__offset__reset": "latest"}, ["auto.offset.reset", "not supported"]),
        ({**ALL, "kafka__enable__auto__commit": "true"}, ["enable.auto.commit", "not supported"]),
        ({**ALL, "kafka__interceptor__classes": "x"}, ["interceptor.classes", "not supported"]),
        ({**ALL, "kafka__key__deserializer": "x"}, ["key.deserializer", "not supported"]),
    ],
)
def test_errors(
    spark: SparkSession,
    kafka: KafkaCluster,
    events: str,
    options: dict[str, str],
    words: list[str],
) -> None:
    same_error(spark, kafka, options, words)


def test_retention_that_took_the_start(spark: SparkSession, kafka: KafkaCluster) -> None:
    topic = "parity-retention"
    kafka.create_topic(topic)
    produce(kafka, topic, [Message(None, b"%d" % i, [], 0) for i in range(100)])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 40)]).values():
        deleted.result()
    assert len(same_rows(spark, kafka, subscribe=topic)) == 60
    before = {"subscribe": topic, "startingOffsets": f'{{"{topic}":{{"0":10}}}}'}
    rows = same_rows(spark, kafka, failOnDataLoss="false", **before)
    assert [row["offset"] for row in rows] == list(range(40, 100))
    same_error(spark, kafka, before, [])
