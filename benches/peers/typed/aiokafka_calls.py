"""aiokafka with fastavro: it has no deserializers of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    AIOKafkaConsumer,
    TopicPartition,
)

from benches.peers.consumers.task import FEW
from benches.peers.typed.confluent_calls import fastavro_reader
from benches.peers.typed.task import Call, Rows, TypedTask


async def _consume(task: TypedTask) -> None:
    read, rows = fastavro_reader(task), Rows(task)
    consumer: Any = AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=16_000_000,
        fetch_max_bytes=100_000_000,
    )
    await consumer.start()
    consumer.assign([TopicPartition(task.topic, number) for number in range(task.partitions)])
    more = True
    while more:
        append = rows.records.append
        for messages in (await consumer.getmany(timeout_ms=500, max_records=FEW)).values():
            for message in messages:
                append(read(message.value))
        more = rows.take()
    await consumer.stop()


CALLS = {"avro": [Call("aiokafka", "fastavro", lambda task: asyncio.run(_consume(task)))]}
