"""Exactly-once writes while Spark runs a stage again because an executor was lost (deep).

Attempts of the same task then run at the same time, in two attempts of the stage, both with the
number 0. `OTTLA_SEED` changes when executors are killed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ottla
from tests.conftest import TopicFactory
from tests.support.committed import committed_rows
from tests.support.jars import REPOSITORY
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.deep]

ROWS = 3000
KILLS = 10
SEED = int(os.environ.get("OTTLA_SEED", "0"))


@contextmanager
def driver(
    spark: SparkCluster, kafka: KafkaCluster, directory: Path, topic: str, mode: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the job in a process; its output is in the file driver.log."""
    with (directory / "driver.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.spark.stage_retry_job"),
                *(spark.url, kafka.bootstrap, str(directory), topic, str(ROWS), mode),
            ],
            env=spark.environment(),
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def attempts(directory: Path) -> dict[int, list[int]]:
    """Return the numbers of the running attempts that have read their rows, by partition."""
    found: dict[int, list[int]] = defaultdict(list)
    for path in directory.glob("read-*"):
        _, partition, number = path.name.split("-")
        if Path("/proc", path.read_text()).exists():
            found[int(partition)].append(int(number))
    return {partition: sorted(numbers) for partition, numbers in found.items()}


class Prepared:
    """The transactions of a partition that have had their last record, the marker."""

    def __init__(self, kafka: KafkaCluster, topic: str, partition: int) -> None:
        self._kafka = kafka
        self._pattern = f"ottla/{topic}/[^/]+/{partition}/[0-9]+"
        self._seen: set[tuple[int, int]] = set()

    def count(self) -> int:
        """Return how many there have been so far."""
        with ottla.Admin(self._kafka.bootstrap) as admin:
            listed = admin.list_transactions(id_pattern=self._pattern)
            described = admin.describe_transactions([each.transactional_id for each in listed])
        self._seen |= {
            (each.producer_id, each.producer_epoch)
            for each in described.values()
            if any(topic == "ottla-exactly-once" for topic, _ in each.partitions)
        }
        return len(self._seen)


def assert_written_once(kafka: KafkaCluster, topic: str) -> None:
    rows = committed_rows(kafka.bootstrap, topic, all_ended=False)
    assert sorted(int(row["value"]) for row in rows) == [*range(ROWS)]


@pytest.mark.timeout(1500)
def test_both_attempts_of_a_task_of_a_retried_stage_prepare_their_rows(
    kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    topic = kafka_topic(partitions=3)
    with (
        SparkCluster(workers=2, cores=2) as spark,
        driver(spark, kafka, tmp_path, topic, "paused") as process,
    ):

        def log() -> str:
            return (tmp_path / "driver.log").read_text()[-4000:]

        def first_wave() -> bool:
            assert process.poll() is None, log()
            return len(attempts(tmp_path)) == 4

        def twins() -> list[tuple[int, list[int]]]:
            assert process.poll() is None, log()
            return [item for item in attempts(tmp_path).items() if len(item[1]) > 1]

        wait_until(first_wave, log, 300)
        os.kill(spark.executors()[0], signal.SIGKILL)
        wait_until(lambda: bool(twins()), log, 300)
        partition, (first, second, *_) = twins()[0]
        prepared = Prepared(kafka, topic, partition)
        for count, number in enumerate((first, second), 1):
            (tmp_path / f"go-on-{number}").touch()
            wait_until(
                lambda count=count: prepared.count() >= count,  # type: ignore[misc]
                lambda: f"attempt {number} wrote nothing: {log()}",  # noqa: B023
                120,
            )
        (tmp_path / "go-on-all").touch()
        assert process.wait(600) == 0, log()
    assert_written_once(kafka, topic)


@pytest.mark.timeout(1500)
def test_executors_killed_while_a_shuffle_is_written(
    kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path
) -> None:
    topic = kafka_topic(partitions=3)
    rng = random.Random(SEED)
    with (
        SparkCluster(workers=2, cores=2) as spark,
        driver(spark, kafka, tmp_path, topic, "free") as process,
    ):
        kills = 0
        deadline = time.monotonic() + 900
        while process.poll() is None:
            assert time.monotonic() < deadline, (tmp_path / "driver.log").read_text()[-4000:]
            time.sleep(rng.uniform(1, 4))
            executors = spark.executors()
            if kills < KILLS and executors:
                os.kill(rng.choice(executors), signal.SIGKILL)
                kills += 1
        assert process.returncode == 0, (tmp_path / "driver.log").read_text()[-4000:]
    assert kills == KILLS, "the write was faster than the kills"
    assert_written_once(kafka, topic)
