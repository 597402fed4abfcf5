"""The memory of Spark's Python workers that read records which compress to nearly nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ottla
from ottla.spark import read_arrow
from tests.support.kafka_cluster import KafkaCluster

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

MEGABYTE = 1 << 20
RECORD = 60 * MEGABYTE
RECORDS = 12

# In MiB. Spark holds the first result as long as it reads, and the last one while the next is read.
FIRST_LIMIT = 213
ALL_LIMIT = FIRST_LIMIT + 3 * 60


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
            producer.send(topic, bytes(RECORD)).result(timeout=60)
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic}

    def peaks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import re
        from pathlib import Path

        import pyarrow as pa

        for batch in batches:
            found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
            peak = int(found[1]) // 1024 if found else 0
            yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows], "peak": [peak]})

    rows = read_arrow(spark, options, transform=peaks, schema="rows bigint, peak bigint").collect()
    assert [row.rows for row in rows] == [1] * RECORDS
    assert spark.read.format("ottla").options(**options).load().count() == RECORDS
    first, last, of_format = rows[0].peak, rows[-1].peak, worker_peak()
    print(f"read_arrow: {first} MiB for one row, {last} for {RECORDS}; the format: {of_format}")
    assert first <= FIRST_LIMIT
    assert max(last, of_format) <= ALL_LIMIT
