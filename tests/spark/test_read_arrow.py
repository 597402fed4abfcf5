"""Other ways to use ottla in Spark, on real brokers: read_arrow, pushdown, functions, packing."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import col, lit, spark_partition_id

import ottla
import ottla.spark
from ottla.errors import ConfigError, UnknownTopicError
from ottla.spark import udf
from tests.conftest import TopicFactory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

EPOCH = 1_600_000_000_000
PUSHING = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def events(kafka: KafkaCluster) -> str:
    """1000 records per partition in partitions 0 to 2, one per second; created once."""
    topic = "arrow-events"
    if kafka.leader_of(topic) < 0:
        kafka.create_topic(topic, partitions=4, config={"retention.ms": "-1"})
        with ottla.Producer(kafka.bootstrap) as producer:
            numbers = range(3000)
            producer.send_batch(
                topic,
                [b"%d" % i for i in numbers],
                [b"k%d" % (i % 100) for i in numbers],
                partitions=[i % 3 for i in numbers],
                timestamps=[EPOCH + i // 3 * 1000 for i in numbers],
            )
    return topic


def options_of(kafka: KafkaCluster, topic: str, **more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, **more}


def read(spark: SparkSession, kafka: KafkaCluster, topic: str, **more: str) -> DataFrame:
    return spark.read.format("ottla").options(**options_of(kafka, topic, **more)).load()


def test_read_arrow(spark: SparkSession, kafka: KafkaCluster, events: str) -> None:
    options = options_of(kafka, events, includeHeaders="true", minPartitions="7")
    frame = ottla.spark.read_arrow(spark, options)
    same = read(spark, kafka, events, includeHeaders="true", minPartitions="7")
    assert frame.schema == same.schema
    assert frame.rdd.getNumPartitions() == same.rdd.getNumPartitions()
    assert sorted(map(repr, frame.collect())) == sorted(map(repr, same.collect()))

    def halves(batches: Any) -> Any:
        for batch in batches:
            numbers = pc.cast(pc.cast(batch["value"], pa.string()), pa.int64())
            yield pa.record_batch([pc.divide(numbers, 2)], names=["half"])

    frame = ottla.spark.read_arrow(
        spark, options, columns="value binary", transform=halves, schema="half bigint"
    )
    assert sorted(row.half for row in frame.collect()) == [i // 2 for i in range(3000)]
    # The plan names what was planned.
    plan = frame._jdf.queryExecution().toString()
    assert f"MapInArrow ottla {events}[0] 0..1000, {events}[1] 0..1000, {events}[2]" in plan
    assert "; columns value; transform halves" in plan


def test_read_arrow_takes_numbers_and_booleans_as_spark_does(
    spark: SparkSession, kafka: KafkaCluster, events: str
) -> None:
    frame = ottla.spark.read_arrow(
        spark,
        {**options_of(kafka, events), "minPartitions": 6, "includeHeaders": True},
    )
    assert frame.columns[-1] == "headers"
    assert frame.rdd.getNumPartitions() == 6
    assert frame.count() == 3000


def test_read_arrow_rejects_what_the_format_rejects(
    spark: SparkSession, kafka: KafkaCluster, events: str
) -> None:
    options = options_of(kafka, events)
    nothing = {"kafka.bootstrap.servers": kafka.bootstrap, "assign": f'{{"{events}":[3]}}'}
    assert ottla.spark.read_arrow(spark, nothing).collect() == []
    with pytest.raises(ConfigError, match="startingOffsets"):
        ottla.spark.read_arrow(spark, {**options, "startingOffset": "latest"})
    with pytest.raises(ConfigError, match="did you mean 'value'"):
        ottla.spark.read_arrow(spark, options, columns="valeu binary")
    with pytest.raises(ConfigError, match="there is no transform"):
        ottla.spark.read_arrow(spark, options, schema="half bigint")


@pytest.mark.parametrize(
    ("condition", "tasks"),
    [
        ("partition = 1", 1),
        ("partition IN (0, 2) AND offset >= 990", 2),
        ("offset BETWEEN 10 AND 19 AND topic = 'arrow-events'", 3),
        ("topic = 'other'", 1),  # Spark creates one task if there are none
        ("timestamp >= TIMESTAMP '2020-09-13 12:43:00' AND partition < 2", 2),
        ("timestamp > TIMESTAMP '2100-01-01 00:00:00'", 1),
        ("timestamp < TIMESTAMP '2020-09-13 12:27:00'", 3),
        ("partition != 1", 3),
        ("offset = 5 OR partition = 2", 3),
        ("key = 'k7' AND offset < 500", 3),
    ],
)
def test_pushed_filters_read_less_and_return_the_same_rows(
    spark: SparkSession, kafka: KafkaCluster, events: str, condition: str, tasks: int
) -> None:
    columns = ["topic", "partition", "offset", "key", "value", "timestamp"]
    # So that each partition is a task of its own.
    plain = read(spark, kafka, events, minPartitions="1").where(condition).select(columns)
    expected = sorted(map(repr, plain.collect()))
    spark.conf.set(PUSHING, "true")
    try:
        pushed = read(spark, kafka, events, minPartitions="1", pushFilters="true")
        frame = pushed.where(condition).select(columns)
        assert sorted(map(repr, frame.collect())) == expected
        assert frame.rdd.getNumPartitions() == tasks
    finally:
        spark.conf.unset(PUSHING)


def test_pushdown_disabled_in_spark_is_an_error_that_names_the_setting(
    spark: SparkSession, kafka: KafkaCluster, events: str
) -> None:
    with pytest.raises(PySparkException, match=PUSHING.replace(".", r"\.")):
        read(spark, kafka, events, pushFilters="true").where("offset > 5").collect()


def test_small_partitions_share_tasks(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=60, replication=1)
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(
            topic, ["x" * 100] * 6000, partitions=[i % 60 for i in range(6000)]
        ).result(timeout=120)
    # As many as with Spark's connector, since there are not very many.
    assert read(spark, kafka, topic).rdd.getNumPartitions() == 60
    by_bytes = read(spark, kafka, topic, targetBytesPerPartition="24000")
    # About 110 bytes per record: two partitions of a broker per task.
    assert 25 <= by_bytes.rdd.getNumPartitions() <= 40
    assert by_bytes.count() == 6000
    cut = read(spark, kafka, topic, targetBytesPerPartition="6000")
    assert 110 <= cut.rdd.getNumPartitions() <= 140
    assert cut.count() == 6000
    many = kafka_topic(partitions=200, replication=1)
    with ottla.Producer(kafka.bootstrap) as producer:
        numbers = [i % 200 for i in range(1000)]
        producer.send_batch(many, ["x"] * 1000, partitions=numbers).result(timeout=120)
    frame = read(spark, kafka, many)
    # Three partitions of each broker per task.
    assert 64 <= frame.rdd.getNumPartitions() <= 70
    rows = frame.select("partition", "offset").collect()
    assert sorted(map(tuple, rows)) == [(p, o) for p in range(200) for o in range(5)]


def test_partition_for_and_leader_for(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=7, replication=1)
    config = {"bootstrap.servers": kafka.bootstrap}
    frame = spark.range(1000).select(col("id").cast("string").alias("key"))
    frame = frame.select(
        "key",
        udf.partition_for(topic, "key", config=config).alias("text"),
        udf.partition_for(topic, col("key").cast("binary"), config=config).alias("partition"),
        udf.leader_for(topic, "key", config=config).alias("leader"),
        udf.partition_for(topic, lit(None).cast("string"), config=config).alias("no_key"),
    )
    # The column equals the partition of the records.
    value = frame.selectExpr("key", "CAST(partition AS STRING) AS value")
    ottla.spark.write(value, {"kafka.bootstrap.servers": kafka.bootstrap, "topic": topic})
    written = read(spark, kafka, topic).selectExpr("partition", "CAST(value AS STRING) AS said")
    assert all(str(row.partition) == row.said for row in written.collect())
    rows = frame.collect()
    assert len({row.partition for row in rows}) == 7
    client = ottla.spark.client(config)
    for row in rows:
        assert row.text == row.partition == ottla.partition_for_key(row.key, 7)
        assert row.leader == client.leader(topic, row.partition)
        assert row.no_key is None
    # The column can be used to repartition a job.
    cut = frame.repartition(3, "leader").select(spark_partition_id().alias("task"), "leader")
    assert len(cut.distinct().collect()) == len({row.leader for row in rows})
    with pytest.raises(UnknownTopicError):
        udf.partition_for("no-such-topic", "key", config=config)


def test_clients_in_functions_are_kept_from_task_to_task(
    spark: SparkSession, kafka: KafkaCluster, events: str
) -> None:
    config = {"bootstrap.servers": kafka.bootstrap, "client.id": "in-functions"}

    def look(batches: Any) -> Any:
        for batch in batches:
            client = ottla.spark.client(config)
            leaders = [client.cluster([events]).topics[events].partitions[0].leader]
            open_to = sum(c.state == "connected" for c in client.connections())
            count = batch.num_rows
            yield pa.RecordBatch.from_pydict(
                {
                    "pid": [os.getpid()] * count,
                    "client": [id(client)] * count,
                    "leader": leaders * count,
                    "open": [open_to] * count,
                }
            )

    rows = []
    for _ in range(3):
        frame = spark.range(0, 12, 1, 12)
        seen = "pid bigint, client bigint, leader bigint, open bigint"
        rows += frame.mapInArrow(look, seen).collect()
    by_worker = Counter((row.pid, row.client) for row in rows)
    assert len(by_worker) == len({row.pid for row in rows})  # one client each
    assert len(by_worker) <= 12
    assert max(by_worker.values()) > 1  # and it is used again
    assert all(row.open >= 1 for row in rows)
    assert {row.leader for row in rows} == {kafka.leader_of(events)}

    def send(rows_of_task: Any) -> None:
        producer = ottla.spark.producer(config)
        for row in rows_of_task:
            producer.send(target, str(row.id))
        producer.flush()

    target = "from-functions"
    kafka.create_topic(target)
    spark.range(100).foreachPartition(send)
    assert kafka.end_offset(target) == 100
