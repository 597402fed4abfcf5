"""confluent-kafka (librdkafka): tuned for throughput, and as it comes."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from benches.peers.scenario import Job, Profile, chunks

NAME = "confluent-kafka"

# Large batches, a queue that never blocks the loop for long; acks and idempotence as ottla's.
_PRODUCE = {
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 1_048_576,
    "enable.idempotence": True,
    "acks": "all",
}
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


def _produce(job: Job, settings: dict[str, Any]) -> int:
    producer, failed = _producer(job, settings)
    topic, send, sent = job.topic, producer.produce, 0
    for values in chunks(job.scenario.values(), job.scenario.records):
        for value in values:
            while True:
                try:
                    send(topic, value)
                    break
                except BufferError:
                    producer.poll(0.05)  # the queue is full: let it drain
        producer.poll(0)
        sent += len(values)
    _flush(producer, failed)
    return sent


def _produce_batch(job: Job, settings: dict[str, Any]) -> int:
    producer, failed = _producer(job, settings)
    sent = 0
    for values in chunks(job.scenario.values(), job.scenario.records):
        left = [{"value": value} for value in values]
        while left:
            try:
                producer.produce_batch(job.topic, left)
            except BufferError:
                producer.poll(0.05)
            left = [message for message in left if message.pop("_error", None)]
        producer.poll(0)
        sent += len(values)
    _flush(producer, failed)
    return sent


def _producer(job: Job, settings: dict[str, Any]) -> tuple[Producer, list[KafkaError]]:
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    # A callback a client, called for failures alone, is librdkafka's cheapest honest bookkeeping.
    reports = {"delivery.report.only.error": True, "on_delivery": on_delivery}
    return Producer({"bootstrap.servers": job.bootstrap, **reports, **settings}), failed


def _flush(producer: Producer, failed: list[KafkaError]) -> None:
    if producer.flush(120) or failed:
        raise SystemExit(f"not all was delivered: {failed[:1]}")


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
            # An application looks at each value.
            size += len(message.value() or b"")
            received += 1
    consumer.close()
    if size != received * job.scenario.value_bytes:
        raise SystemExit(f"{size} bytes in {received} records")
    return received


PROFILES = [
    Profile("tuned", lambda job: _produce(job, _PRODUCE), lambda job: _consume(job, _FETCH)),
    Profile("tuned, produce_batch", lambda job: _produce_batch(job, _PRODUCE), None),
    Profile(
        "defaults",
        # Kafka's durability on all sides; everything else as librdkafka has it.
        lambda job: _produce(job, {"enable.idempotence": True}),
        lambda job: _consume(job, {"check.crcs": True}),
    ),
]
