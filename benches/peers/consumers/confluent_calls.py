"""confluent-kafka (librdkafka), tuned for throughput, and its AIOConsumer.

CRCs are checked, as in Java and ottla, unless the name says otherwise; librdkafka's default is
not to.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from confluent_kafka.aio import AIOConsumer

from benches.peers.consumers.task import FEW, MANY, Call, Kind, Task

NAME = "confluent-kafka"


def settings(task: Task, crcs: bool = True) -> dict[str, Any]:
    return {
        "bootstrap.servers": task.bootstrap,
        "group.id": "peers",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.min.bytes": 1,
        "fetch.wait.max.ms": 100,
        "fetch.max.bytes": 100_000_000,
        "max.partition.fetch.bytes": 16_000_000,
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 1_048_576,
        "socket.receive.buffer.bytes": 1_048_576,
        "check.crcs": crcs,
    }


def partitions(task: Task) -> list[TopicPartition]:
    return [TopicPartition(task.topic, partition, 0) for partition in range(task.partitions)]


def _size(messages: list[Any]) -> int:
    size = 0
    for message in messages:
        if message.error() is not None:
            raise KafkaException(message.error())
        size += len(message.value() or b"")
    return size


def _take_lists(consumer: Consumer, task: Task, at_once: int, timeout: float) -> None:
    more = True
    while more:
        messages = consumer.consume(at_once, timeout)
        if messages:
            more = task.take(len(messages), _size(messages))
    consumer.close()


def _consume(task: Task, at_once: int, crcs: bool = True) -> None:
    consumer = Consumer(settings(task, crcs))
    consumer.assign(partitions(task))
    _take_lists(consumer, task, at_once, 0.5)


def _default_consumer(task: Task) -> Consumer:
    consumer = Consumer({"bootstrap.servers": task.bootstrap, "group.id": "peers"})
    start = OFFSET_BEGINNING
    consumer.assign([TopicPartition(task.topic, n, start) for n in range(task.partitions)])
    return consumer


def default_consume(task: Task, at_once: int) -> None:
    _take_lists(_default_consumer(task), task, at_once, 1.0)


def default_poll(task: Task) -> None:
    consumer = _default_consumer(task)
    count = size = 0
    while True:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is not None:
            raise KafkaException(message.error())
        size += len(message.value() or b"")
        count += 1
        # The clock is not read for each record.
        if count == 1000 or task.received + count == task.records:
            if not task.take(count, size):
                break
            count = size = 0
    consumer.close()


def _aio_consume(task: Task) -> None:
    async def work() -> None:
        consumer = AIOConsumer(settings(task))
        await consumer.assign(partitions(task))
        more = True
        while more:
            messages = await consumer.consume(MANY, 0.5)
            if messages:
                more = task.take(len(messages), _size(messages))
        await consumer.close()

    asyncio.run(work())


def _aio_poll(task: Task) -> None:
    async def work() -> None:
        consumer = AIOConsumer(settings(task))
        await consumer.assign(partitions(task))
        more = True
        while more:
            message = await consumer.poll(1.0)
            if message is not None:
                more = task.take(1, _size([message]))
        await consumer.close()

    asyncio.run(work())


CALLS = [
    Call(f"consume({FEW})", Kind.LIST, partial(_consume, at_once=FEW)),
    Call(f"consume({MANY})", Kind.LIST, partial(_consume, at_once=MANY)),
    Call(f"AIOConsumer.consume({MANY})", Kind.LIST, _aio_consume),
    Call("AIOConsumer.poll", Kind.ASYNC, _aio_poll, share=0.02),
    Call(f"consume({FEW})", Kind.LIST_UNCHECKED, partial(_consume, at_once=FEW, crcs=False)),
]
