"""The driver of test_standalone.py, in its own process because a JVM has one Spark session.

    python -m tests.spark.standalone_job MASTER BOOTSTRAP_SERVERS DIRECTORY ROWS

Reads the topic "source", then writes ROWS rows to the topic "target" and reads them back; prints
its results as JSON. It signals its progress by files in the directory, and waits for others there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import ottla.spark
from tests.support.spark_session import session_builder

# The test kills and starts brokers meanwhile.
WAIT_SECONDS = 500
WRITERS = 24
ROWS_A_BATCH = 500


def main() -> None:
    master, bootstrap, directory, rows = sys.argv[1:]
    spark = (
        session_builder(master, "ottla-standalone")
        .config("spark.sql.shuffle.partitions", "4")
        # Small batches, so that a paused task has not received all of its rows.
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROWS_A_BATCH))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(spark)
    options = {"kafka.bootstrap.servers": bootstrap}
    found = {
        "read": read(spark, options, directory),
        "workers": workers(spark, bootstrap),
        "written": write(spark, options, directory, int(rows)),
    }
    print(json.dumps(found))
    spark.stop()


def gate(directory: str, name: str, pause: float = 0) -> Any:
    """Return a function for mapInArrow that pauses each task at its second batch until the test
    continues it, and waits ``pause`` seconds before each batch."""
    patience = WAIT_SECONDS

    def held(batches: Any) -> Any:
        for number, batch in enumerate(batches):
            if number == 1:
                Path(directory, f"{name}-under-way").touch()
                deadline = time.monotonic() + patience
                while not Path(directory, f"{name}-go-on").exists():
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"{name}-go-on did not appear")
                    time.sleep(0.05)
            time.sleep(pause)
            yield batch

    return held


def read(spark: SparkSession, options: dict[str, str], directory: str) -> list[list[int]]:
    frame = spark.read.format("ottla").options(**options, subscribe="source").load()
    held = frame.select("partition", "offset", "value").mapInArrow(
        gate(directory, "read"), "partition int, offset bigint, value binary"
    )
    sums = held.selectExpr("partition", "offset", "crc32(value) AS crc").groupBy("partition")
    rows = sums.agg({"offset": "sum", "crc": "sum", "*": "count"}).collect()
    return sorted([r["partition"], r["count(1)"], r["sum(offset)"], r["sum(crc)"]] for r in rows)


def workers(spark: SparkSession, bootstrap: str) -> list[list[int]]:
    """Return (process, client, connections opened so far) of each of a hundred small tasks."""
    config = {"bootstrap.servers": bootstrap, "client.id": "counted"}

    def look(batches: Any) -> Any:
        for batch in batches:
            client = ottla.spark.client(config)
            topic = client.cluster(["source"], refresh=True).topics["source"]
            client.list_offsets({("source", number): "latest" for number in topic.partitions})
            opened = int(client.metrics()["connection-creation-total"])
            count = batch.num_rows
            columns = {"pid": os.getpid(), "client": id(client), "opened": opened}
            yield pa.RecordBatch.from_pydict({name: [v] * count for name, v in columns.items()})

    frame = spark.range(0, 100, 1, 100).mapInArrow(look, "pid bigint, client bigint, opened bigint")
    return [list(row) for row in frame.collect()]


def write(
    spark: SparkSession, options: dict[str, str], directory: str, rows: int
) -> dict[str, int]:
    # Each task writes for at least a second.
    slow = gate(directory, "write", WRITERS * ROWS_A_BATCH / rows)
    numbers = spark.range(0, rows, 1, WRITERS).mapInArrow(slow, "id bigint")
    frame = numbers.selectExpr("CAST(id AS STRING) AS key", "repeat('v', 100) AS value")
    spark.sparkContext.setJobGroup("write", "rows to the target")
    report = ottla.spark.write(frame, {**options, "topic": "target", "kafka.linger.ms": "5"})
    Path(directory, "written").touch()
    run_again = failed_tasks(spark, "write")
    back = spark.read.format("ottla").schema("key binary").options(**options, subscribe="target")
    keys = back.load().selectExpr("CAST(CAST(key AS STRING) AS BIGINT) AS id")
    row = keys.selectExpr(
        "count(*) AS records",
        "count(DISTINCT id) AS different",
        "min(id) AS low",
        "max(id) AS high",
    ).collect()[0]
    return {"reported": report.records, "run_again": run_again, **row.asDict()}


def failed_tasks(spark: SparkSession, group: str) -> int:
    """Return the number of tasks of a job group that Spark had to run again."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
    return sum(stage.numFailedTasks for stage in stages if stage)


if __name__ == "__main__":
    main()
