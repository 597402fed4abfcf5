"""Parity: the same options give the same rows, or errors, as Spark's own Kafka connector.

Every topic is written by one client and read by both, so each is the other's oracle.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql.types import IntegerType, Row, StructType

import ottla
from ottla.spark.reading.schema import full_schema
from tests.spark.edge_cases import COMPACTED, Message, compact, edge_case_messages, send
from tests.spark.parity import EPOCH, KEEP, options_of, same_error, same_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def content(row: Row) -> tuple[object, ...]:
    headers = [(h["key"], _bytes(h["value"])) for h in row["headers"] or []]
    return _bytes(row["key"]), _bytes(row["value"]), headers, row["partition"]


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def expected_content(messages: list[Message]) -> list[tuple[object, ...]]:
    by_partition = sorted(messages, key=lambda message: message.partition)
    return [(m.key, m.value, m.headers, m.partition) for m in by_partition]


@pytest.mark.parametrize("codec", CODECS)
def test_written_by_ottla(spark: SparkSession, kafka: KafkaCluster, codec: str) -> None:
    topic = f"parity-ottla-{codec}"
    kafka.create_topic(topic, partitions=2)
    messages = edge_case_messages()
    send(kafka, topic, messages, compression_type=codec)
    rows = same_rows(spark, kafka, subscribe=topic)
    assert [content(row) for row in rows] == expected_content(messages)
    assert {row["timestampType"] for row in rows} == {0}
    assert {row["headers"] is None for row in rows} == {True, False}


@pytest.mark.parametrize("codec", CODECS)
def test_written_by_spark(spark: SparkSession, kafka: KafkaCluster, codec: str) -> None:
    topic = f"parity-spark-{codec}"
    kafka.create_topic(topic, partitions=2)
    messages = edge_case_messages()
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
    kafka.create_topic(topic, config=COMPACTED)
    compact(kafka, topic)
    rows = same_rows(spark, kafka, subscribe=topic)
    assert (len(rows), rows[-1]["offset"]) == (8, 300)
    same_rows(spark, kafka, subscribe=topic, minPartitions="5")
    inside_a_gap = f'{{"{topic}":{{"0":150}}}}'
    same_rows(spark, kafka, subscribe=topic, startingOffsets=inside_a_gap)


def test_retention_of_the_start(spark: SparkSession, kafka: KafkaCluster) -> None:
    topic = "parity-retention"
    kafka.create_topic(topic)
    send(kafka, topic, [Message(None, b"%d" % i, [], 0) for i in range(100)])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 40)]).values():
        deleted.result()
    assert len(same_rows(spark, kafka, subscribe=topic)) == 60
    before = {"subscribe": topic, "startingOffsets": f'{{"{topic}":{{"0":10}}}}'}
    rows = same_rows(spark, kafka, failOnDataLoss="false", **before)
    assert [row["offset"] for row in rows] == list(range(40, 100))
    same_error(spark, kafka, before, [f"{topic}-0", "10"])
