"""Parity for unusual logs: transactions, huge records, retention during a read."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

import ottla
from tests.conftest import TopicFactory
from tests.spark.edge_cases import LARGE, LARGE_PRODUCER, transactions
from tests.spark.parity import SOURCES, run_both

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def load(
    spark: SparkSession, source: str, kafka: KafkaCluster, topic: str, **options: str
) -> DataFrame:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return (
        spark.read.format(source)
        .options(**{"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, **named})
        .load()
    )


def same(
    spark: SparkSession, kafka: KafkaCluster, topic: str, **options: str
) -> list[tuple[Any, ...]]:
    """Return the rows of both, as (partition, offset, length and checksum of the value)."""
    theirs, ours = run_both(
        lambda source: sorted(
            map(
                tuple,
                load(spark, source, kafka, topic, **options)
                .selectExpr("partition", "offset", "length(value)", "crc32(value)")
                .collect(),
            )
        )
    )
    assert ours == theirs
    return ours


def test_transactions(spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=3)  # the last one stays empty
    committed = {"kafka__isolation__level": "read_committed"}
    with transactions(kafka, topic) as write:
        write(topic, ["a"] * 10, "commit")
        write(topic, ["b"] * 6, "abort")
        write(topic, ["c"] * 4, "commit")
        # The log ends in control records, which the read has to skip.
        assert len(same(spark, kafka, topic)) == 20
        assert len(same(spark, kafka, topic, **committed)) == 14
        assert len(same(spark, kafka, topic, minPartitions="9", **committed)) == 14
        write(topic, ["d"] * 4, "abort")
        assert len(same(spark, kafka, topic, **committed)) == 14
        # Start at a control record, or within an aborted transaction.
        inside = f'{{"{topic}":{{"0":5,"1":8,"2":0}}}}'
        same(spark, kafka, topic, startingOffsets=inside, **committed)
        write(topic, ["e"] * 2, "leave")
        # The open transaction also hides the records after it.
        with ottla.Producer(kafka.bootstrap) as producer:
            producer.send(topic, "f", partition=0)
        assert len(same(spark, kafka, topic, **committed)) == 14
        assert len(same(spark, kafka, topic)) == 27


def test_records_of_ten_megabytes(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(config=LARGE)
    large = [os.urandom(10_000_000) for _ in range(3)]
    with ottla.Producer(kafka.bootstrap, **LARGE_PRODUCER) as producer:
        for value in (large[0], b"small", large[1], large[2]):
            producer.send(topic, value)
        producer.flush()
    rows = same(spark, kafka, topic)
    assert [row[2:] for row in rows] == [
        (len(value), zlib.crc32(value)) for value in (large[0], b"small", large[1], large[2])
    ]
    # The same for the sinks: both enforce the topic's limit.
    copy = kafka_topic(config=LARGE)
    sink = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "topic": copy,
        "kafka.max.request.size": "12000000",
        "kafka.buffer.memory": "64000000",
    }
    frame = load(spark, "ottla", kafka, topic).select("value")
    frame.write.format("ottla").mode("append").options(**sink).save()
    assert sorted(row[2:] for row in same(spark, kafka, copy)) == sorted(row[2:] for row in rows)


def test_retention_between_planning_and_reading(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, ["x"] * 100)

    def read(source: str, **options: str) -> list[int]:
        # Counting the frame's tasks plans the read; the records are read afterwards.
        frame = load(spark, source, kafka, topic, **options).select("offset")
        rdd = frame.rdd
        assert rdd.getNumPartitions() == 1
        kafka.delete_records(topic, 0, deleted.pop(0))
        return sorted(row.offset for row in rdd.collect())

    deleted = [10, 20]
    for source in SOURCES:
        start = {"kafka": 10, "ottla": 20}[source]
        assert read(source, failOnDataLoss="false") == list(range(start, 100))
    # earliest is resolved again when a task starts; an explicit offset is not.
    deleted = [30, 40]
    for source in SOURCES:
        start = {"kafka": 30, "ottla": 40}[source]
        assert read(source) == list(range(start, 100))
    deleted = [60, 70]
    for source in SOURCES:
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            read(source, startingOffsets=f'{{"{topic}":{{"0":55}}}}')
        assert f"{topic}-0" in str(caught.value)
