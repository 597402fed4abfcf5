"""confluent-kafka (librdkafka): tuned for throughput, and with default settings."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from benches.peers.scenario import Job, Profile

NAME = "confluent-kafka"

_FETCH = {
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
    "fetch.max.bytes": 100_000_000,
    "max.partition.fetch.bytes": 16_000_000,
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 1_048_576,
    "socket.receive.buffer.bytes": 1_048_576,
    "check.crcs": True,
}


def _consume(job: Job, settings: dict[str, Any]) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": "peers",
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.assign([TopicPartition(job.topic, p, 0) for p in range(job.scenario.partitions)])
    received = size = 0
    while received < job.scenario.records:
        for message in consumer.consume(num_messages=20_000, timeout=0.5):
            if message.error() is not None:
                raise KafkaException(message.error())
            # An application reads each value.
            size += len(message.value() or b"")
            received += 1
    consumer.close()
    if size != received * job.scenario.value_bytes:
        raise SystemExit(f"{size} bytes in {received} records")
    return received


PROFILES = [
    Profile("tuned", lambda job: _consume(job, _FETCH)),
    # librdkafka's defaults, except that CRCs are checked.
    Profile("defaults", lambda job: _consume(job, {"check.crcs": True})),
]
