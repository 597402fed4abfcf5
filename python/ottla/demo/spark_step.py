"""The demo's Spark step: reads the topic as a DataFrame and groups it, on all cores."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.demo.events import EventSummary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_spark() -> SparkSession:
    """Start Spark on this machine, listening on loopback only."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    with _stderr_to_file():
        spark: SparkSession = (
            SparkSession.builder.master("local[*]")
            .appName("ottla demo")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", "4")
            # From Spark 4.1 on: Unix sockets between the JVM and Python are cheaper than TCP.
            .config("spark.python.unix.domain.socket.enabled", "true")
            .getOrCreate()
        )
    return spark


@contextlib.contextmanager
def _stderr_to_file() -> Iterator[None]:
    """Redirect the standard error of child processes to a file: the JVM's log is noise here.

    The file is removed unless the block fails; then its path is printed.
    """
    handle, path = tempfile.mkstemp(prefix="ottla-demo-spark-", suffix=".log")
    kept = os.dup(2)
    try:
        os.dup2(handle, 2)
        yield
    except BaseException:
        os.dup2(kept, 2)
        print(f"Spark did not start; its output is in {path}", file=sys.stderr)
        raise
    else:
        os.dup2(kept, 2)
        os.unlink(path)  # noqa: PTH108 (the JVM keeps it open; its blocks are freed when the JVM exits)
    finally:
        os.close(kept)
        os.close(handle)


def read_with_spark(spark: SparkSession, bootstrap: str, topic: str) -> EventSummary:
    """Read the topic with Spark, and summarize its events by action."""
    import ottla.spark

    ottla.spark.register(spark)
    frame = (
        spark.read.format("ottla")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .load()
    )
    rows = (
        frame.selectExpr(
            "get_json_object(cast(value as string), '$.action') as action",
            "crc32(value) as crc",
        )
        .groupBy("action")
        .agg({"*": "count", "crc": "sum"})
        .collect()
    )
    summary = EventSummary()
    for row in rows:
        action, count, crc = row["action"], row["count(1)"], row["sum(crc)"]
        summary.actions[action] = count
        summary.count += count
        summary.checksum += crc
    return summary
