"""The memory of Spark's Python workers that read records which compress to nearly nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ottla
from tests.support.kafka_cluster import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

MEGABYTE = 1 << 20
RECORD = 60 * MEGABYTE
RECORDS = 12

# A worker without records takes 150 MiB: pyspark, pandas and pyarrow. Spark holds the first result
# as long as it reads, and the last one while the next one is read.
FIRST_LIMIT = 150 + 3 * 60
ALL_LIMIT = FIRST_LIMIT + 2 * 60


def worker_peak() -> int:
    """Return the largest peak of a Python worker that runs, in MiB."""
    peaks = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_worker = b"pyspark.daemon" in (process / "cmdline").read_bytes()
            found = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
        except OSError:
            continue
        if is_worker and found:
            peaks.append(int(found[1]) // 1024)
    return max(peaks)


def test_a_worker_takes_a_few_large_records(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: Callable[..., str]
) -> None:
    topic = kafka_topic(1, 1)
    config = {"compression.type": "zstd", "linger.ms": 0, "buffer.memory": 3 * RECORD}
    config["max.request.size"] = RECORD + MEGABYTE
    with ottla.Producer(kafka.bootstrap, config) as producer:
        for _ in range(RECORDS):
            producer.send(topic, bytes(RECORD)).result(60)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic}
    frame = spark.read.format("ottla").options(**options).load()
    assert frame.limit(1).count() == 1
    first = worker_peak()
    assert frame.count() == RECORDS
    peaks = first, worker_peak()
    print(f"Spark worker: {peaks[0]} MiB for one row, {peaks[1]} MiB for {RECORDS}")
    assert first <= FIRST_LIMIT
    assert peaks[1] <= ALL_LIMIT
