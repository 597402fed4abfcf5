"""ottla: columns, lists, and single records with asyncio; default settings, CRCs are checked."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pyarrow as pa

import ottla
from benches.peers.consumers.task import FEW, MANY, Call, Kind, Task

NAME = "ottla"


def _partitions(task: Task) -> list[tuple[str, int]]:
    return [(task.topic, partition) for partition in range(task.partitions)]


def _consumer(task: Task, crcs: bool = True) -> ottla.Consumer:
    return ottla.Consumer(
        task.bootstrap, task.settings, auto_offset_reset="earliest", check_crcs=crcs
    )


def _take_batch(task: Task, batch: Any) -> bool:
    values = pa.record_batch(batch).column("value")
    # Offsets have 4 bytes each, and are one more than the values.
    return task.take(len(values), values.get_total_buffer_size() - 4 * (len(values) + 1))


def poll_arrow(task: Task, columns: list[str] | None = None, crcs: bool = True) -> None:
    with _consumer(task, crcs) as consumer:
        consumer.assign(_partitions(task))
        more = True
        while more:
            batch = consumer.poll_arrow(timeout=1.0, columns=columns)
            if batch is not None:
                more = _take_batch(task, batch)


def poll(task: Task, at_once: int, crcs: bool = True) -> None:
    with _consumer(task, crcs) as consumer:
        consumer.assign(_partitions(task))
        more = True
        while more:
            size, records = 0, consumer.poll(timeout=1.0, max_records=at_once)
            for record in records:
                # An application reads each value.
                size += len(record.value or b"")
            if records:
                more = task.take(len(records), size)


def async_for(task: Task) -> None:
    async def work() -> None:
        earliest = {**task.settings, "auto.offset.reset": "earliest"}
        async with ottla.AsyncConsumer(task.bootstrap, earliest) as consumer:
            consumer.assign(_partitions(task))
            count = size = 0
            async for record in consumer:
                size += len(record.value or b"")
                count += 1
                # The clock is not read for each record.
                if count == 1000 or task.received + count in (1, task.records):
                    if not task.take(count, size):
                        return
                    count = size = 0

    asyncio.run(work())


def one_by_one(task: Task) -> None:
    with _consumer(task) as consumer:
        consumer.assign(_partitions(task))
        count = size = 0
        for record in consumer:
            size += len(record.value or b"")
            count += 1
            # The clock is not read for each record.
            if count == 1000 or task.received + count in (1, task.records):
                if not task.take(count, size):
                    return
                count = size = 0


def scan(task: Task) -> None:
    with ottla.scan(task.topic, task.bootstrap, task.settings) as batches:
        for batch in batches:
            if not _take_batch(task, batch):
                return


def _value(task: Task, crcs: bool = True) -> None:
    poll_arrow(task, ["value"], crcs)


CALLS = [
    Call("poll_arrow, value", Kind.ARROW, _value),
    Call("poll_arrow, all columns", Kind.ARROW, poll_arrow),
    Call(f"poll({FEW})", Kind.LIST, partial(poll, at_once=FEW)),
    Call(f"poll({MANY})", Kind.LIST, partial(poll, at_once=MANY)),
    Call("async for", Kind.ASYNC, async_for),
    Call("poll_arrow, value", Kind.ARROW_UNCHECKED, partial(_value, crcs=False)),
    Call(f"poll({FEW})", Kind.LIST_UNCHECKED, partial(poll, at_once=FEW, crcs=False)),
]
