"""ottla: columns, lists, and one by one with asyncio. Settings as they come."""

from __future__ import annotations

import asyncio

import pyarrow as pa

import ottla
from benches.peers.consumers.task import AT_ONCE, Kind, Task, Way

NAME = "ottla"


def _partitions(task: Task) -> list[tuple[str, int]]:
    return [(task.topic, partition) for partition in range(task.partitions)]


def _poll_arrow(task: Task) -> None:
    with ottla.Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(_partitions(task))
        more = True
        while more:
            batch = consumer.poll_arrow(1.0, columns=["value"])
            if batch is not None:
                values = pa.record_batch(batch).column("value")
                # Offsets are of 4 bytes, one more than there are values.
                size = values.get_total_buffer_size() - 4 * (len(values) + 1)
                more = task.take(len(values), size)


def _poll_arrow_all(task: Task) -> None:
    with ottla.Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(_partitions(task))
        more = True
        while more:
            batch = consumer.poll_arrow(1.0)
            if batch is not None:
                values = pa.record_batch(batch).column("value")
                size = values.get_total_buffer_size() - 4 * (len(values) + 1)
                more = task.take(len(values), size)


def _poll(task: Task) -> None:
    with ottla.Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign(_partitions(task))
        more = True
        while more:
            size, records = 0, consumer.poll(1.0, AT_ONCE)
            for record in records:
                # An application looks at each value.
                size += len(record.value or b"")
            if records:
                more = task.take(len(records), size)


def _async_for(task: Task) -> None:
    async def work() -> None:
        async with ottla.AsyncConsumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign(_partitions(task))
            count = size = 0
            async for record in consumer:
                size += len(record.value or b"")
                count += 1
                # The clock is not looked at for each.
                if count == 1000 or task.received + count in (1, task.records):
                    if not task.take(count, size):
                        return
                    count = size = 0

    asyncio.run(work())


WAYS = [
    Way("poll_arrow, value", Kind.ARROW, _poll_arrow),
    Way("poll_arrow, all columns", Kind.ARROW, _poll_arrow_all),
    Way("poll", Kind.LIST, _poll),
    Way("async for", Kind.ASYNC, _async_for),
]
