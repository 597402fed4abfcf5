"""confluent-kafka (librdkafka), tuned for throughput, and its AIOProducer."""

from __future__ import annotations

import asyncio
from typing import Any

from confluent_kafka import KafkaError, Producer
from confluent_kafka.aio import AIOProducer

from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Call, Kind, Task

NAME = "confluent-kafka"


def _settings(task: Task) -> dict[str, Any]:
    return {
        "bootstrap.servers": task.bootstrap,
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": LINGER_MS,
        "batch.size": BATCH_SIZE,
        "batch.num.messages": 100_000,
        "compression.type": task.compression,
        # Large enough that the loop hardly ever waits.
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1_048_576,
    }


def _producer(task: Task) -> tuple[Producer, list[KafkaError]]:
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    # One callback for all records, called only for failures, is the cheapest complete check.
    reports = {"delivery.report.only.error": True, "on_delivery": on_delivery}
    producer = Producer({**_settings(task), **reports})
    producer.produce(task.topic, b"first")
    _flush(producer, failed)
    return producer, failed


def _flush(producer: Producer, failed: list[KafkaError]) -> None:
    if producer.flush(120) or failed:
        raise SystemExit(f"not all was delivered: {failed[:1]}")


def _produce(task: Task) -> None:
    chunks = list(task.chunks())
    producer, failed = _producer(task)
    with task.measured():
        topic, produce = task.topic, producer.produce
        for chunk in chunks:
            for value in chunk:
                while True:
                    try:
                        produce(topic, value)
                        break
                    except BufferError:
                        producer.poll(0.05)
            producer.poll(0)
        _flush(producer, failed)


def _produce_batch(task: Task) -> None:
    chunks = list(task.chunks())
    producer, failed = _producer(task)
    with task.measured():
        for chunk in chunks:
            left = [{"value": value} for value in chunk]
            while left:
                producer.produce_batch(task.topic, left)
                left = [message for message in left if message.pop("_error", None)]
                if left:
                    producer.poll(0.05)
            producer.poll(0)
        _flush(producer, failed)


async def _connected(task: Task) -> AIOProducer:
    producer = AIOProducer(_settings(task), buffer_timeout=0.1)
    first = await producer.produce(task.topic, b"first")
    await producer.flush()
    await first
    return producer


async def _futures(task: Task) -> None:
    chunks = list(task.chunks())
    producer = await _connected(task)
    with task.measured():
        produce, topic = producer.produce, task.topic
        for chunk in chunks:
            for sent in [await produce(topic, value) for value in chunk]:
                await sent
    await producer.close()


async def _tasks(task: Task) -> None:
    chunks = list(task.chunks())
    producer = await _connected(task)

    async def one(value: bytes) -> object:
        return await (await producer.produce(task.topic, value))

    with task.measured():
        for chunk in chunks:
            await asyncio.gather(*[one(value) for value in chunk])
    await producer.close()


CALLS = [
    Call("produce", Kind.RECORD, _produce, 0.5),
    Call("produce_batch", Kind.LIST, _produce_batch, 0.5),
    Call("AIOProducer", Kind.FUTURES, lambda task: asyncio.run(_futures(task)), 0.05),
    Call("AIOProducer", Kind.TASKS, lambda task: asyncio.run(_tasks(task)), 0.05),
]
