"""ottla: Arrow, lists, single records, and asyncio futures."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa

import ottla
from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Call, Kind, Task

NAME = "ottla"


def _settings(task: Task) -> dict[str, Any]:
    codec = task.compression
    return {"linger_ms": LINGER_MS, "batch_size": BATCH_SIZE, "compression_type": codec}


def _producer(task: Task) -> ottla.Producer:
    producer = ottla.Producer(task.bootstrap, **_settings(task))
    producer.send(task.topic, b"first").result()
    return producer


def _arrow(task: Task) -> None:
    chunks = [pa.array(chunk, type=pa.binary()) for chunk in task.chunks()]
    with _producer(task) as producer, task.measured():
        for chunk in chunks:
            producer.send_batch(task.topic, chunk)
        producer.flush()


def _list(task: Task) -> None:
    chunks = list(task.chunks())
    with _producer(task) as producer, task.measured():
        for chunk in chunks:
            producer.send_batch(task.topic, chunk)
        producer.flush()


def _send(task: Task) -> None:
    chunks = list(task.chunks())
    with _producer(task) as producer, task.measured():
        send, topic = producer.send, task.topic
        for chunk in chunks:
            for value in chunk:
                send(topic, value)
        producer.flush()


async def _futures(task: Task) -> None:
    chunks = list(task.chunks())
    async with ottla.AsyncProducer(task.bootstrap, **_settings(task)) as producer:
        send, topic = producer.send, task.topic
        await send(topic, b"first")
        with task.measured():
            for chunk in chunks:
                for sent in [send(topic, value) for value in chunk]:
                    await sent


async def _tasks(task: Task) -> None:
    chunks = list(task.chunks())
    async with ottla.AsyncProducer(task.bootstrap, **_settings(task)) as producer:
        send, topic = producer.send, task.topic
        await send(topic, b"first")

        async def one(value: bytes) -> ottla.RecordMetadata:
            return await send(topic, value)

        with task.measured():
            for chunk in chunks:
                await asyncio.gather(*[one(value) for value in chunk])


CALLS = [
    Call("send_batch(Arrow)", Kind.ARROW, _arrow),
    Call("send_batch(list)", Kind.LIST, _list),
    Call("send", Kind.RECORD, _send, 0.5),
    Call("await send", Kind.FUTURES, lambda task: asyncio.run(_futures(task)), 0.2),
    Call("await send", Kind.TASKS, lambda task: asyncio.run(_tasks(task)), 0.1),
]
