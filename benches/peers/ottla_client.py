"""ottla: consuming as Arrow."""

from __future__ import annotations

import pyarrow as pa

import ottla
from benches.peers.scenario import Job, Profile

NAME = "ottla"


def _scan(job: Job) -> int:
    scan = ottla.scan(job.topic, bootstrap=job.bootstrap, start="earliest", end="latest")
    received = size = 0
    for batch in pa.RecordBatchReader.from_stream(scan):
        received += batch.num_rows
        size += batch.column("value").get_total_buffer_size()
    if size < received * job.scenario.value_bytes:
        raise SystemExit(f"{size} bytes in {received} records")
    return received


PROFILES = [Profile("scan", _scan)]
