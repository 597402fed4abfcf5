"""The demo's Spark step: the topic as a DataFrame, grouped, on as many cores as there are."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ottla.demo.events import Tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_spark() -> SparkSession:
    """Start Spark on this machine; it listens on loopback only."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    with _stderr_in_a_file():
        spark: SparkSession = (
            SparkSession.builder.master("local[*]")
            .appName("ottla demo")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", "4")
            # From Spark 4.1 on: Unix sockets between the JVM and Python cost less than TCP.
            .config("spark.python.unix.domain.socket.enabled", "true")
            .getOrCreate()
        )
    return spark


@contextlib.contextmanager
def _stderr_in_a_file() -> Iterator[None]:
    """Start children whose standard error is a file: what the JVM prints there is for its makers.

    The file is removed unless starting fails; then the error names it.
    """
    handle, path = tempfile.mkstemp(prefix="ottla-demo-spark-", suffix=".log")
    kept = os.dup(2)
    try:
        os.dup2(handle, 2)
        yield
    except BaseException:
        os.dup2(kept, 2)
        print(f"Spark did not start; what it printed is in {path}", file=sys.stderr)
        raise
    else:
        os.dup2(kept, 2)
        os.unlink(path)  # noqa: PTH108 (the JVM still writes to it; its blocks go with the JVM)
    finally:
        os.close(kept)
        os.close(handle)


def read_with_spark(spark: SparkSession, bootstrap: str, topic: str) -> Tally:
    """Read the topic, and group its events by action."""
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
    tally = Tally()
    for row in rows:
        action, count, crc = row["action"], row["count(1)"], row["sum(crc)"]
        tally.actions[action] = count
        tally.count += count
        tally.checksum += crc
    return tally
