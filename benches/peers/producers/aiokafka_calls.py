"""aiokafka, a pure-Python client; codecs need another package."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer  # type: ignore[import-not-found,import-untyped,unused-ignore]

from benches.peers.producers.task import BATCH_SIZE, LINGER_MS, Call, Kind, Task

NAME = "aiokafka"


async def _futures(task: Task) -> None:
    chunks = list(task.chunks())
    producer: Any = AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks="all",
        enable_idempotence=True,
        linger_ms=LINGER_MS,
        max_batch_size=BATCH_SIZE,
    )
    await producer.start()
    await producer.send_and_wait(task.topic, b"first")
    with task.measured():
        send, topic = producer.send, task.topic
        for chunk in chunks:
            for sent in [await send(topic, value) for value in chunk]:
                await sent
    await producer.stop()


CALLS = [Call("send", Kind.FUTURES, lambda task: asyncio.run(_futures(task)), 0.05, ("none",))]
