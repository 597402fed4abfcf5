"""Writing to real brokers from real Spark, compared with Spark's own sink."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import col

import ottla
import ottla.spark
from ottla.spark.writing.write_report import PartitionWritten, read_reports
from tests.conftest import TopicFactory
from tests.spark.parity import assert_rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

COLUMNS = "key binary, value binary, headers array<struct<key:string,value:binary>>, partition int"
EDGE_CASES: list[Any] = [
    (b"k", b"v", None, 0),
    (None, b"no key", [("h", b"1"), ("h", None)], 1),
    (b"no value", None, [("", b"")], 2),
    (None, None, [], 0),
    (b"", b"", None, 1),
    (b"\x00\xff", "grüße ✓".encode() * 1000, [("naïve ✓", b"\x00")], None),
]

# Errors of both sinks, in batches and in streams.
ERRORS: list[tuple[str, dict[str, str], list[str]]] = [
    ("CAST(id AS STRING) AS key", {"topic": "t"}, ["value", "not found"]),
    ("CAST(id AS STRING) AS value", {}, ["topic", "option", "required"]),
    ("id AS value", {"topic": "t"}, ["value", "bigint", "string", "binary"]),
    ("'v' AS value, id AS key", {"topic": "t"}, ["key", "bigint", "string", "binary"]),
    ("'v' AS value, id AS topic", {}, ["topic", "bigint", "string"]),
    ("'v' AS value, id AS partition", {"topic": "t"}, ["partition", "bigint", "int"]),
    ("'v' AS value, 'h' AS headers", {"topic": "t"}, ["headers", "string", "array"]),
    ("'v' AS value, CAST(NULL AS STRING) AS topic", {}, ["topic", "null"]),
    (
        "'v' AS value",
        {"topic": "t", "kafka__key__serializer": "x"},
        ["key.serializer", "not supported"],
    ),
    (
        "'v' AS value",
        {"topic": "t", "kafka__value__serializer": "x"},
        ["value.serializer", "not supported"],
    ),
    ("'v' AS value", {"topic": "t", "kafka__bootstrap__servers": ""}, ["bootstrap.servers"]),
    ("'v' AS value", {"topic": "t", "kafka__acks": "9"}, ["acks", "9"]),
    ("'v' AS value", {"topic": "t", "kafka__compression__type": "zip"}, ["zip"]),
    ("'v' AS value", {"topic": "t", "kafka__linger__ms": "soon"}, ["linger.ms", "soon"]),
    (
        "'v' AS value",
        {"topic": "no-such-topic", "kafka__max__block__ms": "1000"},
        ["no-such-topic"],
    ),
]


def write(frame: DataFrame, source: str, kafka: KafkaCluster, **options: str) -> None:
    named = {name.replace("__", "."): value for name, value in options.items()}
    frame.write.format(source).mode("append").options(
        **{"kafka.bootstrap.servers": kafka.bootstrap, **named}
    ).save()


def read(spark: SparkSession, kafka: KafkaCluster, topics: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topics}
    return spark.read.format("kafka").options(**options, includeHeaders="true").load()


def contents(spark: SparkSession, kafka: KafkaCluster, topic: str) -> list[Any]:
    rows = read(spark, kafka, topic).orderBy("partition", "offset").collect()
    return [(r.partition, r.key, r.value, r.headers) for r in rows]


def test_the_same_rows_as_sparks_sink(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    theirs, ours = kafka_topic(partitions=3), kafka_topic(partitions=3)
    # Only rows with a key or a partition: the sinks choose the partition of others.
    data = EDGE_CASES + [(b"%d" % i, b"v%d" % i, None, None) for i in range(1000)]
    frame = spark.createDataFrame(data, COLUMNS).coalesce(1)
    settings = {
        "includeHeaders": "true",
        "kafka.acks": "1",
        "kafka.compression.type": "zstd",
        "kafka.linger.ms": "0",
        "kafka.batch.size": "1",
        "kafka.enable.idempotence": "false",
        "kafka.client.id": "settings",
    }
    write(frame, "kafka", kafka, topic=theirs, **settings)
    report = ottla.spark.write(
        frame, {"kafka.bootstrap.servers": kafka.bootstrap, "topic": ours, **settings}
    )
    expected = contents(spark, kafka, theirs)
    assert contents(spark, kafka, ours) == expected
    assert len(expected) == len(data)
    counts = Counter(partition for partition, *_ in expected)
    assert report.partitions == {
        (ours, number): PartitionWritten(count, 0, count - 1) for number, count in counts.items()
    }
    assert report.records == len(data)


def test_topics_of_rows_and_text(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    one, two = kafka_topic(), kafka_topic()
    frame = (
        spark.range(3000)
        .repartition(4)
        .selectExpr(
            "CAST(id AS STRING) AS value",
            f"CASE WHEN id % 3 = 0 THEN '{one}' ELSE '{two}' END AS topic",
            "id AS other",
        )
    )
    report = ottla.spark.write(frame, {"kafka.bootstrap.servers": kafka.bootstrap})
    assert {k: v.records for k, v in report.partitions.items()} == {(one, 0): 1000, (two, 0): 2000}
    rows = read(spark, kafka, f"{one},{two}").collect()
    assert sorted(int(r.value) for r in rows) == list(range(3000))
    assert all((r.topic == one) == (int(r.value) % 3 == 0) for r in rows)
    # The option wins over the column, as in Spark's sink.
    write(frame.limit(5), "ottla", kafka, topic=one)
    assert read(spark, kafka, one).count() == 1005


def test_a_copied_topic_keeps_partitions_and_optionally_timestamps(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    # The records have old timestamps: retention would delete them.
    keep = {"retention.ms": "-1"}
    source, copy = (kafka_topic(partitions=2, config=keep) for _ in range(2))
    with ottla.Producer(kafka.bootstrap) as producer:
        for i in range(20):
            producer.send(source, b"%d" % i, b"k", partition=i % 2, timestamp=1_600_000_000_000 + i)
    frame = read(spark, kafka, source)
    write(frame, "ottla", kafka, topic=copy, includeTimestamp="true")
    same = ["key", "value", "headers", "partition", "offset", "timestamp", "timestampType"]
    copied, original = (
        sorted(map(tuple, read(spark, kafka, topic).select(*same).collect()), key=str)
        for topic in (copy, source)
    )
    assert copied == original
    write(frame, "ottla", kafka, topic=copy)
    times = read(spark, kafka, copy).where(col("offset") >= 10).select("timestamp").collect()
    assert all(row.timestamp.year > 2020 for row in times)


@pytest.mark.parametrize(("columns", "options", "fragments"), ERRORS)
def test_the_same_errors(
    spark: SparkSession,
    kafka: KafkaCluster,
    columns: str,
    options: dict[str, str],
    fragments: list[str],
) -> None:
    frame = spark.range(3).selectExpr(*columns.split(", "))
    assert_rejected(
        lambda source: write(frame, source, kafka, **options), fragments, together=False
    )


def test_a_missing_partition_and_records_that_are_too_large(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(config={"max.message.bytes": "20000"})

    def attempt(frame: DataFrame, source: str) -> None:
        # Java looks for the topic, and then for the partition, for this long.
        write(frame, source, kafka, topic=topic, kafka__max__block__ms="6000")

    for columns in ("'v' AS value, CAST(9 AS INT) AS partition", "repeat('v', 30000) AS value"):
        frame = spark.sql(f"SELECT {columns}")
        assert_rejected(
            partial(attempt, frame),
            ["partition" if "partition" in columns else "large"],
            together=False,
        )


def test_save_modes(spark: SparkSession, kafka: KafkaCluster) -> None:
    frame = spark.sql("SELECT 'v' AS value")
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "topic": "t"}
    for mode in ("overwrite", "ignore"):
        for source in ("kafka", "ottla"):
            with pytest.raises(PySparkException, match=r"(?i)mode.*" + mode):
                frame.write.format(source).mode(mode).options(**options).save()


def test_written_from_foreach_batch(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    source, target = kafka_topic(), kafka_topic()
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(source, ["x"] * 10)
    servers = {"kafka.bootstrap.servers": kafka.bootstrap}
    reported = []

    def copy(batch: DataFrame, number: int) -> None:
        rows = batch.select("value")
        write(rows, "ottla", kafka, topic=target)
        reported.append(ottla.spark.write(rows, {**servers, "topic": target}).records)
        with_client = ottla.spark.producer({"bootstrap.servers": kafka.bootstrap})
        with_client.send(target, f"{number}").result(timeout=120)

    query = (
        spark.readStream.format("ottla")
        .options(**servers, subscribe=source, startingOffsets="earliest")
        .load()
        .writeStream.foreachBatch(copy)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    assert reported == [10]
    assert kafka.end_offset(target) == 21


def test_a_stream_written(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    source, target = kafka_topic(partitions=2), kafka_topic(partitions=2)
    with ottla.Producer(kafka.bootstrap) as producer:
        values = [b"%d" % i for i in range(2000)]
        producer.send_batch(source, values, partitions=[i % 2 for i in range(2000)])
    report = tmp_path / "report"

    def run(output: str = "append", grouped: bool = False) -> None:
        frame = (
            spark.readStream.format("kafka")
            .options(**{"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": source})
            .options(startingOffsets="earliest", maxOffsetsPerTrigger="800")
            .load()
        )
        if grouped:
            frame = frame.groupBy("partition").count().selectExpr("CAST(count AS STRING) AS value")
        query = (
            frame.select("value")
            .writeStream.format("ottla")
            .outputMode(output)
            .options(**{"kafka.bootstrap.servers": kafka.bootstrap, "topic": target})
            .option("checkpointLocation", str(tmp_path / f"checkpoint-{output}"))
            .option("reportPath", str(report))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)

    run()
    reports = read_reports(str(report))
    assert [r.batch_id for r in reports] == [0, 1, 2]
    assert [r.records for r in reports] == [800, 800, 400]
    assert json.loads(report.read_text().splitlines()[0])["partitions"].keys() == {target}
    numbers = sorted(int(row.value) for row in read(spark, kafka, target).collect())
    assert numbers == list(range(2000))
    # No new records: no batch, no row.
    run()
    assert read(spark, kafka, target).count() == 2000
    # Complete tables are appended as well, as by Spark's sink.
    run("complete", grouped=True)
    assert sum(r.records for r in read_reports(str(report))[3:]) == 6
