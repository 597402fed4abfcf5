"""Exactly-once with random restarts of a stream, new partitions and leader changes."""

from __future__ import annotations

import os
import random
import threading
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import ottla
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

# 300 is a stronger test, and for half of it also checks that memory stays flat.
SECONDS = float(os.environ.get("OTTLA_STREAM_SECONDS", "20"))
RESTARTS = 4 if SECONDS < 60 else 10
TOPIC = "stream-restarts"
GROUP = "stream-restarts-progress"


def memory_of_python_workers() -> int:
    """Return the resident bytes of the Python processes under this one's JVM."""
    parents, resident = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().split(b"\0")[0]
            parents[int(path.name)] = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            pages = int((path / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue  # it has just ended
        if b"java" not in command:
            resident[int(path.name)] = pages * os.sysconf("SC_PAGE_SIZE")

    def is_ours(pid: int) -> bool:
        while pid not in (0, os.getpid()):
            pid = parents.get(pid, 0)
        return pid != 0

    return sum(size for pid, size in resident.items() if pid != os.getpid() and is_ours(pid))


class Load(threading.Thread):
    """Sends records to all existing partitions until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        self._client = ottla.Client(bootstrap, linger_ms=20)
        self._producer = ottla.Producer(self._client)
        self._ended = threading.Event()
        self.partitions = 2
        self.sent = 0
        self.error: ottla.errors.KafkaError | None = None

    def run(self) -> None:
        try:
            while not self._ended.wait(0.05):
                each = [partition for partition in range(self.partitions) for _ in range(20)]
                self._producer.send_batch(TOPIC, ["x"] * len(each), partitions=each).result(
                    timeout=150
                )
                self.sent += len(each)
        except ottla.errors.KafkaError as error:
            self.error = error

    def grow(self, partitions: int) -> None:
        """Send to this number of partitions as soon as they are known."""

        def known() -> bool:
            topic = self._client.cluster([TOPIC], refresh=True).topics[TOPIC]
            return len(topic.partitions) == partitions

        wait_until(known, lambda: "the new partitions are not known")
        self.partitions = partitions

    def stop(self) -> None:
        self._ended.set()
        self.join(200)
        self._producer.close()
        self._client.close()
        assert self.error is None, self.error


@pytest.mark.timeout(1200)
def test_each_offset_exactly_once(spark: SparkSession, kafka: KafkaCluster, tmp_path: Path) -> None:
    rng = random.Random(11)
    kafka.create_topic(TOPIC, partitions=2)
    # Idempotent: a batch that is run again replaces itself.
    sink: dict[int, list[tuple[int, int]]] = {}

    def keep(batch: Any, number: int) -> None:
        sink[number] = [tuple(row) for row in batch.select("partition", "offset").collect()]

    def start(**trigger: Any) -> Any:
        options = {
            "kafka.bootstrap.servers": kafka.bootstrap,
            "subscribe": TOPIC,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "4000",
            "commitGroupId": GROUP,
        }
        return (
            spark.readStream.format("ottla")
            .options(**options)
            .load()
            .writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(**trigger)
            .start()
        )

    def has_moved(query: Any, before: int) -> bool:
        return query.exception() is not None or len(sink) > before + 1

    load = Load(kafka.bootstrap)
    load.start()
    memory: list[int] = []
    try:
        for restart in range(RESTARTS):
            query = start(processingTime="200 milliseconds")
            wait_until(
                partial(has_moved, query, len(sink)),
                lambda: "no micro-batch",
                300,
            )
            if restart == 1:
                admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
                admin.create_partitions([NewPartitions(TOPIC, 4)])[TOPIC].result()
                for partition in range(4):
                    kafka.wait_for_isr(TOPIC, partition)
                load.grow(4)
            if restart == 2:
                kafka.kill(kafka.leader_of(TOPIC))
            if restart < RESTARTS - 1:
                time.sleep(rng.uniform(0.5, 1.5) * SECONDS / 2 / RESTARTS)
            else:
                memory = memory_while(query, SECONDS / 2)
            assert query.exception() is None, str(query.exception())
            query.stop()
            if restart == 2:
                kafka.heal()
    finally:
        load.stop()
    last = start(availableNow=True)
    assert last.awaitTermination(300)

    seen = sorted(row for rows in sink.values() for row in rows)
    ends = [kafka.end_offset(TOPIC, partition) for partition in range(4)]
    assert sum(ends) == load.sent
    assert len(seen) == load.sent
    assert seen == [(p, offset) for p, end in enumerate(ends) for offset in range(end)]
    assert committed(kafka) == {str(p): [str(end), str(end), "0"] for p, end in enumerate(ends)}
    megabytes = [size >> 20 for size in memory]
    print(f"{load.sent} records, {RESTARTS} restarts, MB of the Python workers: {megabytes}")
    if SECONDS >= 60:
        third = len(megabytes) // 3
        assert median(megabytes[-third:]) - median(megabytes[third:-third]) < 20, megabytes


def memory_while(query: Any, seconds: float) -> list[int]:
    """Return the memory of the Python workers each second while a query runs."""
    ends = time.monotonic() + seconds
    memory = []
    while time.monotonic() < ends and query.exception() is None:
        memory.append(memory_of_python_workers())
        time.sleep(1)
    return memory


def committed(kafka: KafkaCluster) -> dict[str, list[str]]:
    """Return the offset, end and lag of the group by partition, from Kafka's own tool."""
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    arguments = ("--bootstrap-server", kafka.bootstrap, "--describe", "--group", GROUP)
    lines = [line.split() for line in kafka.run_tool(tool, *arguments).splitlines()]
    return {line[2]: line[3:6] for line in lines if len(line) > 5 and line[1] == TOPIC}
