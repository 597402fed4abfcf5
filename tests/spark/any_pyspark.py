"""Reads and writes in every way on one PySpark version, and checks the errors of older ones.

    python -m venv e && e/bin/pip install pyspark==4.0.2 pyarrow pandas   # and ottla
    e/bin/python -m tests.spark.any_pyspark [BOOTSTRAP_SERVERS]

Without BOOTSTRAP_SERVERS, it uses the mock cluster. Ends with "all is well", or with an error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import ottla
import ottla.spark
from ottla.spark import udf
from ottla.testing import MockCluster

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
ROWS = 3000


@contextlib.contextmanager
def brokers() -> Iterator[str]:
    """Yield the bootstrap servers to use."""
    if len(sys.argv) > 1:
        yield sys.argv[1]
    else:
        with MockCluster(brokers=3) as cluster:
            yield cluster.bootstrap


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    with brokers() as bootstrap, tempfile.TemporaryDirectory() as directory:
        kafka = {"kafka.bootstrap.servers": bootstrap}
        with ottla.Admin(bootstrap) as admin:
            topic, copy = (f"any-{uuid.uuid4().hex}" for _ in range(2))
            for name in (topic, copy):
                admin.create_topic(name, 3)
        batches(spark, kafka, topic)
        streams(spark, kafka, topic, copy, Path(directory))
        replays(spark, kafka, topic, Path(directory) / "replays")
    spark.stop()
    print(f"PySpark {pyspark.__version__}: all is well")


def expect(found: object, expected: object) -> None:
    """Assert, even when Python optimises asserts away."""
    if found != expected:
        raise AssertionError(f"expected {expected!r}, found {found!r}")


def batches(spark: SparkSession, kafka: dict[str, str], topic: str) -> None:
    """Write a batch with a report, and read it in every way."""
    rows = spark.range(ROWS).selectExpr(
        "CAST(id AS STRING) AS key",
        "CAST(id AS STRING) AS value",
        "ARRAY(STRUCT('h' AS key, CAST('1' AS BINARY) AS value)) AS headers",
    )
    expect(ottla.spark.write(rows, {**kafka, "topic": topic}).records, ROWS)
    source = {**kafka, "subscribe": topic}
    read = spark.read.format("ottla").options(**source, includeHeaders="true").load()
    one = read.where("value = CAST('7' AS BINARY)").collect()
    expect([(bytes(row.key), bytes(row.headers[0].value)) for row in one], [(b"7", b"1")])
    expect(read.count(), ROWS)
    few = spark.read.format("ottla").schema("offset bigint, value binary").options(**source)
    expect(few.load().where("offset >= 0").count(), ROWS)
    arrow = ottla.spark.read_arrow(spark, source, columns="offset bigint")
    expect(arrow.count(), ROWS)
    config = {"bootstrap.servers": kafka["kafka.bootstrap.servers"]}
    where = read.select("partition", udf.partition_for(topic, "key", config=config).alias("said"))
    expect(where.where("partition = said").count(), ROWS)
    if VERSION >= (4, 1):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
        pushed = spark.read.format("ottla").options(**source, pushFilters="true").load()
        expect(pushed.where("partition = 1").count(), read.where("partition = 1").count())
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    else:
        expect_error(
            lambda: spark.read.format("ottla").options(**source, pushFilters="true").load().count(),
            ["pushFilters", "4.1"],
        )


def streams(
    spark: SparkSession, kafka: dict[str, str], topic: str, copy: str, directory: Path
) -> None:
    """Copy the topic with a stream, in two runs; then with limits, which need 4.2."""

    def run(name: str, **options: str) -> Any:
        query = (
            spark.readStream.format("ottla")
            .options(**kafka, subscribe=topic, startingOffsets="earliest", **options)
            .load()
            .selectExpr("key", "CAST(value AS STRING) AS value")
            .writeStream.format("ottla")
            .options(**kafka, topic=copy)
            .option("checkpointLocation", str(directory / name))
            .trigger(availableNow=True)
            .start()
        )
        if not query.awaitTermination(120):
            raise AssertionError(f"{name} did not end")
        return query

    def copied() -> int:
        return spark.read.format("ottla").options(**kafka, subscribe=copy).load().count()

    run("copy", commitGroupId="any")
    expect(copied(), ROWS)
    run("copy", commitGroupId="any")
    expect(copied(), ROWS)
    for option in ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxBytesPerTrigger"):
        if VERSION >= (4, 2):
            expect(ottla.spark.lag(run(option, **{option: "1000"}).lastProgress).total, 0)
        else:
            expect_error(
                lambda o=option: run(o, **{o: "1000"}), [option, "4.2", pyspark.__version__]
            )


def replays(spark: SparkSession, kafka: dict[str, str], topic: str, checkpoint: Path) -> None:
    """Fail the sink in a query's first micro-batch, and restart the query with more records."""

    def start(sink: Any) -> Any:
        return (
            spark.readStream.format("ottla")
            .options(**kafka, subscribe=topic, startingOffsets="latest")
            .load()
            .writeStream.foreachBatch(sink)
            .option("checkpointLocation", str(checkpoint))
            .start()
        )

    def fails(batch: Any, number: int) -> None:
        raise RuntimeError("the sink fails")

    expect_error(lambda: start(fails).awaitTermination(120), ["the sink fails"])
    rows = spark.range(ROWS).selectExpr("CAST(id AS STRING) AS value")
    ottla.spark.write(rows, {**kafka, "topic": topic})
    seen: dict[int, int] = {}
    query = start(lambda batch, number: seen.update({number: batch.count()}))
    query.processAllAvailable()
    query.stop()
    expect(sum(seen.values()), ROWS)


def expect_error(act: Any, fragments: list[str]) -> None:
    """Assert that an error contains these fragments."""
    try:
        act()
    except Exception as error:  # noqa: BLE001 (Spark wraps ours in several ways)
        expect([f for f in fragments if f not in str(error)], [])
    else:
        raise AssertionError(f"no error with {fragments}")


if __name__ == "__main__":
    main()
