"""Warnings are printed on standard error in processes that Spark starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.child import run_child
from tests.support.jars import REPOSITORY
from tests.support.spark_home import spark_home

GONE = "t-0: the records from offset 5 to 30 are gone and were skipped"
DELETED = "partitions [u-0] have been deleted; records may be lost"


def test_warnings_are_printed_once_without_other_log_handlers() -> None:
    ended = run_child("""
        import logging
        from ottla._internal.stderr_log import show_warnings
        log = logging.getLogger("ottla.fetch")
        log.warning("before")
        for _ in range(2): show_warnings()
        log.info("little")
        log.warning("of %s", "interest")
        logging.basicConfig(format="the program's: %(message)s")
        log.warning("more")
        """)
    first, second = ended.output.splitlines()
    assert first.endswith(" WARNING ottla.fetch: of interest")
    assert second == "the program's: more"


@pytest.mark.parametrize(
    "taker", ["logging.basicConfig()", "logging.getLogger('ottla').addHandler(mine)"]
)
def test_nothing_is_printed_with_other_log_handlers(taker: str) -> None:
    ended = run_child(f"""
        import logging
        from ottla._internal.stderr_log import show_warnings
        mine = logging.StreamHandler()
        {taker}
        before = logging.getLogger("ottla").handlers[:]
        show_warnings()
        assert logging.getLogger("ottla").handlers == before
        logging.getLogger("ottla.fetch").warning("once")
        """)
    assert ended.output.count("once") == 1


def test_nothing_is_printed_in_the_drivers_program() -> None:
    ended = run_child("""
        import logging
        import ottla.spark
        cluster = MockCluster(brokers=1)
        ottla.spark.client({"bootstrap.servers": cluster.bootstrap})
        ottla.spark.producer({"bootstrap.servers": cluster.bootstrap})
        assert [type(h) for h in logging.getLogger("ottla").handlers] == [logging.NullHandler]
        say("left")
        """)
    assert ended.output == "left\n"


PROGRAM = """
import sys
from ottla.testing import MockCluster
from pyspark.sql import SparkSession

captured = sys.argv[1]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .config("spark.sql.pyspark.worker.logging.enabled", captured)
    .getOrCreate()
)
with MockCluster(brokers=1) as cluster:
    for topic in "tu":
        cluster.create_topic(topic, 1)
        cluster.append(topic, 0, [b"x"] * 50)
    cluster.delete_records("t", 0, 30)

    options = {"kafka.bootstrap.servers": cluster.bootstrap, "failOnDataLoss": "false"}
    start = {"subscribe": "t", "startingOffsets": '{"t":{"0":5}}'}
    print("read", spark.read.format("ottla").options(**options, **start).load().count())
    if captured == "true":
        print(*(row.msg for row in spark.tvf.python_worker_logs().collect()), sep="\\n")
    else:
        config = {"bootstrap.servers": cluster.bootstrap}

        def scan(batches):
            import ottla.spark

            yield from batches
            client = ottla.spark.client(config)
            list(client.scan([("t", 0, 6, 40)], columns=["value"], fail_on_data_loss=False))

        spark.range(0, 1, 1, 1).mapInArrow(scan, "id bigint").collect()

        def run():
            query = (
                spark.readStream.format("ottla")
                .options(**options, subscribePattern="[tu]", startingOffsets="earliest")
                .load()
                .writeStream.format("noop")
                .option("checkpointLocation", sys.argv[2])
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        run()
        cluster.delete_topic("u")
        cluster.append("t", 0, [b"x"])
        run()
"""


def said(captured: str, checkpoint: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, captured, checkpoint],
        cwd=REPOSITORY,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": spark_home()},
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout, done.stderr


@pytest.mark.spark
@pytest.mark.deep
def test_warnings_of_sparks_processes_are_printed(tmp_path: Path) -> None:
    out, errors = said("false", f"{tmp_path}/checkpoint")
    assert "read 20" in out
    # From a task, from a function that a task runs, and from the process that plans a stream.
    assert errors.count(GONE) == 1
    assert errors.count(GONE.replace("5", "6")) == 1
    assert DELETED in errors


@pytest.mark.spark
@pytest.mark.deep
def test_nothing_is_printed_where_spark_captures_the_log(tmp_path: Path) -> None:
    out, errors = said("true", f"{tmp_path}/checkpoint")
    assert "read 20" in out
    assert GONE in out
    assert GONE not in errors
