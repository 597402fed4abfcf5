"""ottla: Arrow, lists, records one by one, and futures of asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa

import ottla
from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Kind, Task, Way

NAME = "ottla"


def _settings(task: Task) -> dict[str, Any]:
    codec = task.compression
    return {"linger_ms": LINGER_MS, "batch_size": BATCH_SIZE, "compression_type": codec}


def _producer(task: Task) -> ottla.Producer:
    producer = ottla.Producer(task.bootstrap, **_settings(task))
    producer.send(task.topic, b"first").result()
    return producer


def _arrow(task: Task) -> None:
    parts = [pa.array(part, type=pa.binary()) for part in task.parts()]
    with _producer(task) as producer, task.measured():
        for part in parts:
            producer.send_batch(task.topic, part)
        producer.flush()


def _list(task: Task) -> None:
    parts = list(task.parts())
    with _producer(task) as producer, task.measured():
        for part in parts:
            producer.send_batch(task.topic, part)
        producer.flush()


def _send(task: Task) -> None:
    parts = list(task.parts())
    with _producer(task) as producer, task.measured():
        send, topic = producer.send, task.topic
        for part in parts:
            for value in part:
                send(topic, value)
        producer.flush()


async def _futures(task: Task) -> None:
    parts = list(task.parts())
    async with ottla.AsyncProducer(task.bootstrap, **_settings(task)) as producer:
        send, topic = producer.send, task.topic
        await send(topic, b"first")
        with task.measured():
            for part in parts:
                for sent in [send(topic, value) for value in part]:
                    await sent


async def _tasks(task: Task) -> None:
    parts = list(task.parts())
    async with ottla.AsyncProducer(task.bootstrap, **_settings(task)) as producer:
        send, topic = producer.send, task.topic
        await send(topic, b"first")

        async def one(value: bytes) -> ottla.RecordMetadata:
            return await send(topic, value)

        with task.measured():
            for part in parts:
                await asyncio.gather(*[one(value) for value in part])


WAYS = [
    Way("send_batch(Arrow)", Kind.ARROW, _arrow),
    Way("send_batch(list)", Kind.LIST, _list),
    Way("send", Kind.RECORD, _send, 0.5),
    Way("await send", Kind.FUTURES, lambda task: asyncio.run(_futures(task)), 0.2),
    Way("await send", Kind.TASKS, lambda task: asyncio.run(_tasks(task)), 0.1),
]
