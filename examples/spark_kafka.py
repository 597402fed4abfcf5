"""Kafka and Spark without a jar: write a frame, read it back, stream it, and show the lag.

    pip install "ottla[spark]"
    python examples/spark_kafka.py                      # on a mock cluster in the process
    OTTLA_BOOTSTRAP=host:9092 python examples/spark_kafka.py

Requires only Java 17, for Spark. PySpark 4.0 and 4.1 do not support maxOffsetsPerTrigger, so omit
it there; they report no lag either.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

from pyspark.sql import SparkSession

import ottla.spark
from ottla.testing import MockCluster

TOPIC = "ottla-example-orders"
PARTITIONS = 4
ORDERS = 10_000


@contextlib.contextmanager
def kafka() -> Iterator[str]:
    """Yield the bootstrap servers of your cluster, or of a mock cluster in this process."""
    if given := os.environ.get("OTTLA_BOOTSTRAP"):
        yield given
    else:
        with MockCluster(brokers=3) as cluster:
            yield cluster.bootstrap


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("ottla-example")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.python.unix.domain.socket.enabled", "true")
        # Enough for two cores; the default of 200 is for clusters.
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    ottla.spark.register(spark)
    with kafka() as bootstrap, tempfile.TemporaryDirectory() as checkpoint:
        with ottla.Admin(bootstrap) as admin, contextlib.suppress(ottla.errors.ConfigError):
            admin.create_topic(TOPIC, PARTITIONS)  # ConfigError: the topic already exists

        orders = spark.range(ORDERS).selectExpr(
            "CONCAT('customer-', id % 100) AS key", "TO_JSON(STRUCT(id, id % 7 AS items)) AS value"
        )
        report = ottla.spark.write(
            orders, {"kafka.bootstrap.servers": bootstrap, "topic": TOPIC, "kafka.linger.ms": "5"}
        )
        print(f"wrote {report.records} orders to {len(report.partitions)} partitions")

        options = {"kafka.bootstrap.servers": bootstrap, "subscribe": TOPIC}
        frame = spark.read.format("ottla").schema("value binary").options(**options).load()
        items = frame.selectExpr("FROM_JSON(CAST(value AS STRING), 'items INT').items AS items")
        print("items ordered:", items.groupBy().sum().collect()[0][0])

        query = (
            spark.readStream.format("ottla")
            .options(**options, startingOffsets="earliest", maxOffsetsPerTrigger="4000")
            .load()
            .groupBy("partition")
            .count()
            .writeStream.outputMode("complete")
            .format("memory")
            .queryName("orders")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        print(f"streamed in {len(query.recentProgress)} triggers;", end=" ")
        print(f"behind by {ottla.spark.lag(query.lastProgress).total}")
        spark.table("orders").orderBy("partition").show()
    spark.stop()


if __name__ == "__main__":
    main()
