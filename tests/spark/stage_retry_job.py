"""The driver of test_stage_retries.py, in its own process because a JVM has one Spark session.

    python -m tests.spark.stage_retry_job MASTER BOOTSTRAP_SERVERS DIRECTORY TOPIC ROWS MODE

Writes ROWS numbers to TOPIC, exactly once, from a shuffle into PARTITIONS tasks. The test kills
executors meanwhile, so that Spark runs the stage again. In the mode "paused", an attempt that has
read its rows says so with a file in the directory, and waits for another one to go on; in the mode
"free", attempts are slow, and Spark runs slow ones twice.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ottla.spark
from tests.support.spark_session import session_builder

# More tasks than cores: those that start after an executor was killed find its rows missing.
PARTITIONS = 6
_WAIT_SECONDS = 400


def main() -> None:
    master, bootstrap, directory, topic, rows, mode = sys.argv[1:]
    is_paused = mode == "paused"
    spark = (
        session_builder(master, "ottla-stage-retries")
        .config("spark.speculation", str(not is_paused).lower())
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.multiplier", "1.2")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.minTaskRuntime", "50ms")
        .config("spark.stage.maxConsecutiveAttempts", "100")
        .config("spark.task.maxFailures", "100")
        .config("spark.deploy.maxExecutorRetries", "100")
        .config("spark.shuffle.io.maxRetries", "1")
        .config("spark.shuffle.io.retryWait", "1s")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(spark)
    numbers = spark.range(0, int(rows), 1, 4).repartition(PARTITIONS, "id")
    steps = numbers.mapInArrow(paused(directory) if is_paused else slow, "id bigint")
    steps.selectExpr("CAST(id AS STRING) AS value").write.format("ottla").mode("append").options(
        **{"kafka.bootstrap.servers": bootstrap, "topic": topic},
        exactlyOnce="true",
        exactlyOnceId=topic,
    ).save()
    spark.stop()


def paused(directory: str) -> Any:
    """Return a function for mapInArrow that pauses each attempt after it has read its rows."""
    patience = _WAIT_SECONDS

    def wait(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        read = list(batches)
        number = context.taskAttemptId()
        name = f"read-{context.partitionId()}-{number}"
        # Under its name only when it has its content.
        partial = Path(directory, f"partial-{number}")
        partial.write_text(str(os.getpid()))
        partial.rename(Path(directory, name))
        deadline = time.monotonic() + patience
        while not any(Path(directory, f"go-on-{each}").exists() for each in (number, "all")):
            if time.monotonic() > deadline:
                raise TimeoutError(f"go-on-{number} did not appear")
            time.sleep(0.02)
        yield from read

    return wait


def slow(batches: Iterable[Any]) -> Iterator[Any]:
    """Pause before each batch, for mapInArrow."""
    for batch in batches:
        time.sleep(0.6)
        yield batch


if __name__ == "__main__":
    main()
