"""The worker's client in functions of users: a plain UDF, and a task that forks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import udf

import ottla.spark
from ottla import errors
from tests.conftest import TopicFactory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def test_a_plain_udf_has_one_client_per_worker(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=5)
    config = {"bootstrap.servers": kafka.bootstrap, "client.id": topic}

    def seen_by_row() -> str:
        client = ottla.spark.client(config)
        # Row by row: the client caches its metadata.
        known = len(client.cluster([topic]).topics[topic].partitions)
        return f"{os.getpid()} {id(client)} {known}"

    column = udf(lambda _: seen_by_row(), "string")
    rows = spark.range(200).repartition(4).select(column("id").alias("seen")).collect()
    seen = {tuple(row.seen.split()) for row in rows}
    assert {known for _, _, known in seen} == {"5"}
    # One client per worker, and none in the process that created the UDF.
    assert len(seen) == len({worker for worker, _, _ in seen})
    assert str(os.getpid()) not in {worker for worker, _, _ in seen}


def test_a_task_may_fork_after_use(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    config = {"bootstrap.servers": kafka.bootstrap, "client.id": topic}

    def fork(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            client, producer = ottla.spark.client(config), ottla.spark.producer(config)
            producer.send(topic, "before").result(timeout=60)
            child = os.fork()
            if child == 0:
                verdict = 1
                try:
                    own = ottla.spark.producer(config)
                    own.send(topic, "child").result(timeout=60)
                    try:
                        client.topic_names()
                    except errors.ClosedError:
                        verdict = 0 if own is not producer else 2
                finally:
                    os._exit(verdict)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            producer.send(topic, "after").result(timeout=60)
            same = ottla.spark.client(config) is client
            yield pa.RecordBatch.from_pylist([{"code": code, "same": same}] * batch.num_rows)

    frame = spark.range(1).coalesce(1).mapInArrow(fork, "code bigint, same boolean")
    assert [tuple(row) for row in frame.collect()] == [(0, True)]
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic}
    values = spark.read.format("ottla").options(**options).load().select("value").collect()
    assert [bytes(row.value) for row in values] == [b"before", b"child", b"after"]
