"""Kafka to Spark to Kafka, exactly once, while drivers and executors are killed (deep).

`OTTLA_DRIVER_KILLS` sets how often the driver is killed, by default 20 times; `OTTLA_SEED`
changes when.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import ottla
from tests.support.committed import committed_rows
from tests.support.jars import REPOSITORY
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.spark_cluster import SparkCluster
from tests.support.spark_home import spark_home

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

PARTITIONS = 3
KILLS = int(os.environ.get("OTTLA_DRIVER_KILLS", "20"))
SEED = int(os.environ.get("OTTLA_SEED", "0"))
FAULT_SITE = Path(__file__).parent / "fault_site"


@dataclass
class Copy:
    """A job that copies one topic to another."""

    kafka: KafkaCluster
    directory: Path
    sink: str
    spark: SparkCluster | None = None
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    total: int = 0

    def __post_init__(self) -> None:
        for topic in self.topics:
            self.kafka.create_topic(topic, PARTITIONS)
        (self.directory / "bootstrap").write_text(self.kafka.bootstrap)

    @property
    def topics(self) -> tuple[str, str]:
        """The topics to read and to write."""
        return f"source-{self.name}", f"target-{self.name}"

    @property
    def log(self) -> Path:
        """The output of all drivers."""
        return self.directory / "driver.log"

    def fill(self, count: int) -> None:
        """Send more numbers to the source."""
        numbers = range(self.total, self.total + count)
        self.total += count
        with ottla.Producer(self.kafka.bootstrap) as producer:
            producer.send_batch(
                self.topics[0],
                [b"%d" % number for number in numbers],
                partitions=[number % PARTITIONS for number in numbers],
            )

    def copied(self) -> Counter[int]:
        """Return how often readers see each number now."""
        rows = committed_rows(self.kafka.bootstrap, self.topics[1], all_ended=False)
        return Counter(int(row["value"]) for row in rows)

    @contextmanager
    def driver(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the query in a process; at the end, kill it as a machine that fails would."""
        environment: Mapping[str, str]
        if self.spark is None:
            master = "local[2]"
            environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": spark_home()}
        else:
            master, environment = self.spark.url, self.spark.environment()
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.spark.exactly_once_job"),
                    *(master, self.kafka.bootstrap, str(self.directory), self.sink, *self.topics),
                ],
                cwd=REPOSITORY,
                env={
                    **environment,
                    "OTTLA_TEST_DIRECTORY": str(self.directory),
                    "PYTHONPATH": f"{FAULT_SITE}{os.pathsep}{REPOSITORY}",
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def copy_with_kills(copy: Copy, kills: int, seed: int) -> int:
    """Copy while the driver is killed; return how often it was killed after a decision."""
    rng = random.Random(seed)
    copy.fill(3000)
    reached = copy.directory / "reached-decided"
    at_the_point = 0
    for number in range(kills):
        copy.fill(900)
        at_point = copy.sink == "ottla" and number % 2 == 0
        if at_point:
            (copy.directory / "armed").write_text(str(rng.randint(0, PARTITIONS)))
        before = copy.copied().total()
        with copy.driver() as driver:

            def moved(driver: subprocess.Popen[bytes] = driver, before: int = before) -> bool:
                assert driver.poll() is None, copy.log.read_text()[-4000:]
                return reached.exists() or copy.copied().total() > before

            wait_until(moved, lambda: "the query does nothing", 200)
            if at_point:
                wait_until(reached.exists, lambda: "the fault point is not reached", 100)
                reached.unlink()
                at_the_point += 1
            else:
                time.sleep(rng.uniform(0, 0.8))
            executors = [] if copy.spark is None else copy.spark.executors()
            if executors and rng.random() < 0.6:
                os.kill(rng.choice(executors), signal.SIGKILL)
                time.sleep(rng.uniform(0, 2))
    with copy.driver():
        wait_until(
            lambda: len(copy.copied()) >= copy.total,
            lambda: f"{len(copy.copied())} of {copy.total}: {copy.log.read_text()[-4000:]}",
            300,
        )
    return at_the_point


def assert_exactly_once(copy: Copy) -> None:
    copied = copy.copied()
    assert sorted(copied) == [*range(copy.total)]
    twice = [number for number, count in copied.items() if count > 1]
    assert twice == [], f"{len(twice)} records twice"


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("level", [0, 2])
def test_killed_drivers(kafka: KafkaCluster, tmp_path: Path, level: int) -> None:
    kafka.set_transaction_version(level)
    copy = Copy(kafka, tmp_path, "ottla")
    at_the_point = copy_with_kills(copy, KILLS, seed=SEED + level)
    assert_exactly_once(copy)
    assert at_the_point >= KILLS // 2
    print(f"{copy.total} records, {KILLS} drivers killed, {at_the_point} after a decision")


@pytest.mark.timeout(3000)
def test_killed_executors_and_drivers(kafka: KafkaCluster, tmp_path: Path) -> None:
    with SparkCluster(workers=2, cores=2) as spark:
        copy = Copy(kafka, tmp_path, "ottla", spark)
        copy_with_kills(copy, KILLS // 2, seed=SEED + 7)
    assert_exactly_once(copy)


@pytest.mark.timeout(3000)
def test_sparks_own_sink_writes_twice(kafka: KafkaCluster, tmp_path: Path) -> None:
    copy = Copy(kafka, tmp_path, "kafka")
    copy_with_kills(copy, KILLS // 2, seed=SEED + 3)
    copied = copy.copied()
    assert sorted(copied) == [*range(copy.total)]
    print(f"Spark's own sink: {copied.total() - copy.total} of {copy.total} records twice")
