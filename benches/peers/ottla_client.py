"""ottla: records one by one, and whole batches; consumed as Arrow."""

from __future__ import annotations

import pyarrow as pa

import ottla
from benches.peers.scenario import Job, Profile, chunks

NAME = "ottla"


def _send(job: Job) -> int:
    sent = 0
    with ottla.Producer(job.bootstrap, linger_ms=5, batch_size=1_000_000) as producer:
        send, topic = producer.send, job.topic
        for values in chunks(job.scenario.values(), job.scenario.records):
            for value in values:
                send(topic, value=value)
            sent += len(values)
        producer.flush()
    return sent


def _send_batch(job: Job) -> int:
    sent = 0
    with ottla.Producer(job.bootstrap, linger_ms=5, batch_size=1_000_000) as producer:
        for values in chunks(job.scenario.values(), job.scenario.records):
            producer.send_batch(job.topic, values)
            sent += len(values)
        producer.flush()
    return sent


def _scan(job: Job) -> int:
    scan = ottla.scan(job.topic, bootstrap=job.bootstrap, start="earliest", end="latest")
    received = size = 0
    for batch in pa.RecordBatchReader.from_stream(scan):
        received += batch.num_rows
        size += batch.column("value").get_total_buffer_size()
    if size < received * job.scenario.value_bytes:
        raise SystemExit(f"{size} bytes in {received} records")
    return received


PROFILES = [
    Profile("send", _send, None),
    Profile("send_batch", _send_batch, None),
    Profile("scan", None, _scan),
]
