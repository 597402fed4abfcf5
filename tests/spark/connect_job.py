"""The client of test_connect.py, in a process without a JVM.

    python -m tests.spark.connect_job REMOTE BOOTSTRAP_SERVERS DIRECTORY

Writes to the topic "connect-0" and reads from it over Spark Connect; prints its results as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import ottla
import ottla.spark
from ottla.spark import udf
from ottla.spark.registration import redaction

CANARY = "canary-key"


def main() -> None:
    remote, bootstrap, directory = sys.argv[1:]
    spark = SparkSession.builder.remote(remote).getOrCreate()
    # The server discovers the format by itself; this call extends its redaction.
    for _ in range(2):
        ottla.spark.register(spark)
    hidden = [
        spark.conf.get(setting)
        for setting in (redaction.OPTIONS_REGEX_SETTING, redaction.REQUEST_REGEX_SETTING)
    ]
    kafka = {"kafka.bootstrap.servers": bootstrap, **secrets()}
    rows = spark.range(1000).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
    rows.write.format("ottla").mode("append").options(**kafka, topic="connect-0").save()
    source = {**kafka, "subscribe": "connect-0"}
    frame = spark.read.format("ottla").schema("key binary, offset bigint").options(**source).load()
    found: dict[str, Any] = {
        "kind": type(spark).__module__,
        "read": frame.selectExpr("count(*)", "sum(CAST(CAST(key AS STRING) AS BIGINT))").collect(),
        "stream": stream(spark, source, directory),
        "wrong": wrong(spark, kafka),
        "hidden": hidden,
    }
    config = {"bootstrap.servers": bootstrap}
    found["partitions"] = (
        rows.select(udf.partition_for("connect-0", "key", config=config).alias("p"), "key")
        .where("p IS NOT NULL")
        .count()
    )
    found["read_arrow"] = ottla.spark.read_arrow(spark, source, columns="offset bigint").count()
    report = ottla.spark.write(rows.limit(10), {**kafka, "topic": "connect-1"})
    found["reported"] = report.records
    print(json.dumps(found))
    spark.stop()


def secrets() -> dict[str, str]:
    """Return secrets that have no effect here: one as long as a key, and one with quotes."""
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *[CANARY * 6] * 60])
    return {"kafka.ssl.keystore.key": key, "kafka.sasl.password": f'a"b\\c{CANARY}'}


def stream(spark: SparkSession, source: dict[str, str], directory: str) -> list[int]:
    """Copy the topic with a stream, and return the target's content and the stream's lag."""
    query = (
        spark.readStream.format("ottla")
        .options(**source, startingOffsets="earliest", maxOffsetsPerTrigger="400")
        .load()
        .select("value")
        .writeStream.format("ottla")
        .options(**{name: value for name, value in source.items() if name != "subscribe"})
        .option("topic", "connect-2")
        .option("checkpointLocation", str(Path(directory, "checkpoint")))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    options = {**source, "subscribe": "connect-2"}
    copied = spark.read.format("ottla").options(**options).load().count()
    progress = query.lastProgress
    return [copied, len(query.recentProgress), ottla.spark.lag(progress).total]


def wrong(spark: SparkSession, kafka: dict[str, str]) -> str:
    """Return the error for an unknown option."""
    try:
        spark.read.format("ottla").options(**kafka, subscribes="x").load().count()
    except Exception as error:  # noqa: BLE001 (whatever it is, the test looks at it)
        return str(error)
    return "nothing"


if __name__ == "__main__":
    main()
