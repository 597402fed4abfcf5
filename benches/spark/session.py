"""The Spark session and the topics that all variants share, set up once per run."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

PARTITIONS = 12
SMALL_PARTITIONS = 1000
RECORDS_PER_SMALL_PARTITION = 100
TYPED = "typed"
# The sink's records are never read, and those of all rounds would fill a disk.
SHORT_RETENTION = {
    "retention.bytes": "20000000",
    "segment.bytes": "20000000",
    "file.delete.delay.ms": "1000",
}


def session(master: str = "local[2]", *, connector: bool = True, ottla: bool = True) -> Any:
    """Return a session with Spark's own connector and from_avro, and with ottla registered."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    if connector:
        from tests.support.jars import spark_connector

        builder = builder.config("spark.jars", spark_connector())
    made = (
        builder.master(master)
        .appName("ottla-bench")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        # The connector keeps consumers for five minutes, with the records that they fetched ahead.
        # Batches never use them again, and with the tuned settings they fill 4 GB: first the
        # garbage collector dominates the measurement, then memory runs out.
        .config("spark.kafka.consumer.cache.timeout", "1s")
        .config("spark.kafka.consumer.cache.evictorThreadRunInterval", "1s")
        .config("spark.kafka.consumer.fetchedData.cache.timeout", "1s")
        .config("spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval", "1s")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    if ottla:
        from ottla.spark import register

        register(made)
    return made


def fill(kafka: Any, records: int) -> None:
    """Create topics with small values, large values, and very many partitions, and one to write."""
    import ottla

    source = random.Random(1)
    with ottla.Producer(kafka.bootstrap, batch_size=500_000, linger_ms=20) as producer:

        def send(topic: str, value_bytes: int, count: int, partitions: int, run: int) -> None:
            values = [source.randbytes(value_bytes) for _ in range(min(10_000, count))]
            sent = 0
            while sent < count:
                chunk = values[: count - sent]
                spread = [(sent + i) // run % partitions for i in range(len(chunk))]
                producer.send_batch(topic, chunk, partitions=spread)
                sent += len(chunk)
            producer.flush()

        for topic in ("bytes-100", "bytes-1000"):
            kafka.create_topic(topic, PARTITIONS, 1)
        kafka.create_topic("sink", PARTITIONS, 1, SHORT_RETENTION)
        send("bytes-100", 100, records, PARTITIONS, 100)
        send("bytes-1000", 1000, records // 4, PARTITIONS, 100)
        kafka.create_topic("small", SMALL_PARTITIONS, 1)
        small = SMALL_PARTITIONS * RECORDS_PER_SMALL_PARTITION
        send("small", 100, small, SMALL_PARTITIONS, 1)


def fill_typed(kafka: Any, registry: str, records: int) -> None:
    """Create a topic with values in Avro of 40 fields, and register their schema."""
    import ottla
    from benches.schemas import shapes
    from benches.schemas.serializers import serializer

    kafka.create_topic(TYPED, PARTITIONS, 1)
    serialize = serializer("avro", "nested", registry, TYPED)
    values = [serialize(record) for record in shapes.records("nested", min(5_000, records))]
    with ottla.Producer(kafka.bootstrap, batch_size=500_000, linger_ms=20) as producer:
        for first in range(0, records, len(values)):
            chunk = values[: records - first]
            spread = [(first + i) // 100 % PARTITIONS for i in range(len(chunk))]
            producer.send_batch(TYPED, chunk, partitions=spread)
