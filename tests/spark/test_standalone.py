"""A real Spark cluster with executors in their own processes; executors and brokers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

import ottla
from tests.support.jars import REPOSITORY
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

PARTITIONS = 24
EACH = 3_000
# 5000000 is a stronger test and takes minutes.
ROWS = int(os.environ.get("OTTLA_SPARK_ROWS", "400000"))


def fill(kafka: KafkaCluster) -> list[list[int]]:
    """Produce records of a kilobyte; return (partition, count, sum of offsets, of checksums)."""
    kafka.create_topic("source", PARTITIONS)
    kafka.create_topic("target", PARTITIONS)
    expected = []
    with ottla.Producer(kafka.bootstrap, batch_size=500_000) as producer:
        for partition in range(PARTITIONS):
            values = [b"%d-%d-" % (partition, i) + b"x" * 3000 for i in range(EACH)]
            producer.send_batch("source", values, partitions=[partition] * EACH)
            sum_of_offsets = EACH * (EACH - 1) // 2
            expected.append([partition, EACH, sum_of_offsets, sum(map(zlib.crc32, values))])
    return expected


def written(kafka: KafkaCluster) -> int:
    """Return the number of records in the topic that is written to."""
    return sum(kafka.end_offset("target", partition) for partition in range(PARTITIONS))


@pytest.mark.timeout(1500)
def test_executors_and_brokers_killed(kafka: KafkaCluster, tmp_path: Path) -> None:
    expected = fill(kafka)
    command = [sys.executable, "-m", "tests.spark.standalone_job"]

    log = tmp_path / "driver.log"
    with SparkCluster(workers=2, cores=2) as spark, log.open("wb") as errors:
        driver = subprocess.Popen(
            [*command, spark.url, kafka.bootstrap, str(tmp_path), str(ROWS)],
            env=spark.environment(),
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        try:

            def until(name: str) -> None:
                def there() -> bool:
                    assert driver.poll() is None, log.read_text()[-4000:]
                    return (tmp_path / name).exists()

                wait_until(there, lambda: f"no {name}", 400)

            until("read-under-way")
            kafka.kill(kafka.leader_of("source"))
            killed = spark.executors()[0]
            os.kill(killed, signal.SIGKILL)
            (tmp_path / "read-go-on").touch()
            until("write-under-way")
            assert killed not in spark.executors()
            kafka.heal()
            (tmp_path / "write-go-on").touch()
            # A broker is killed while tasks write to it: batches in flight are resolved.
            wait_until(lambda: written(kafka) > ROWS // 5, lambda: "nothing is written", 400)
            kafka.kill(kafka.leader_of("target"))
            assert not (tmp_path / "written").exists(), "too late"
            output, _ = driver.communicate(timeout=1200)
        finally:
            driver.kill()
            driver.wait()
    assert driver.returncode == 0, log.read_text()[-4000:]
    found = json.loads(output.splitlines()[-1])

    # Every record once, although tasks were run again.
    assert found["read"] == expected
    # Each worker has one client, whose connections are opened once and serve many tasks.
    by_worker: dict[int, set[int]] = defaultdict(set)
    opened: dict[int, set[int]] = defaultdict(set)
    for pid, client, connections in found["workers"]:
        by_worker[pid].add(client)
        opened[pid].add(connections)
    assert all(len(clients) == 1 for clients in by_worker.values())
    assert len(by_worker) <= 20 < len(found["workers"])
    assert max(max(counts) for counts in opened.values()) <= 6
    # Nothing is lost, and only tasks that Spark ran again wrote duplicates.
    rows = found["written"]
    assert (rows["different"], rows["low"], rows["high"]) == (ROWS, 0, ROWS - 1)
    assert rows["reported"] == ROWS
    twice = rows["records"] - ROWS
    assert twice == 0 or rows["run_again"] > 0, rows
    print(f"{twice} of {ROWS} rows more than once, {rows['run_again']} tasks run again")
