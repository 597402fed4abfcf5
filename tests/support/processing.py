"""Runs processors of either API in a thread, and reads the topics that they write."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ottla
from ottla.processing import AsyncProcessor, Processor
from ottla.processing.letter_headers import PREFIX
from ottla.testing import MockCluster
from tests.support.waiting import wait_until

DELAYS = (0.2, 0.3)
PROCESSORS: dict[str, Any] = {"blocking": Processor, "asyncio": AsyncProcessor}

Records = list[ottla.Record[Any, Any]]


@contextmanager
def running(processor: Any) -> Iterator[list[BaseException]]:
    """Run a processor; at the end stop it, and raise what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            done = processor.run()
            if done is not None:
                asyncio.run(done)
        except BaseException as error:  # noqa: BLE001 - the test raises it
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield raised
    finally:
        # A processor that does not run would keep it for its next run.
        if not raised:
            processor.stop()
        thread.join(60)
        assert not thread.is_alive(), "the processor did not stop"
    if raised:
        raise raised[0]


def run_until(processor: Any, condition: Callable[[], object]) -> None:
    """Run a processor until a condition holds; raise what it raises."""
    with running(processor) as raised:
        wait_until(lambda: raised or condition())


def run_to_error(processor: Any) -> None:
    """Run a processor until it ends by itself."""
    with running(processor) as raised:
        wait_until(lambda: raised)


def written(bootstrap: str, topic: str, **config: Any) -> Records:
    """Return the records of a topic, in order of partition and offset."""
    with ottla.Consumer(bootstrap, auto_offset_reset="earliest", **config) as consumer:
        partitions = [(topic, each) for each in consumer.partitions_for(topic)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(*partitions)
        records: Records = []
        while any(consumer.position(*each) < ends[each] for each in partitions):
            records += consumer.poll(timeout=1.0)
    return sorted(records, key=lambda each: (each.partition, each.offset))


def committed(cluster: MockCluster, group: str, topic: str) -> dict[int, int]:
    """Return a group's committed offsets of a topic, by partition."""
    with ottla.Admin(cluster.bootstrap) as admin:
        offsets = admin.list_group_offsets([group])[group]
    return {number: each.offset for (name, number), each in offsets.items() if name == topic}


def make(kind: Any, cluster: MockCluster, handler: Any, **options: Any) -> Any:
    """Return a processor of the topic `orders`, in the group `billing`."""
    settings = {"retry_delays": DELAYS, "create_topics": True, "group_id": "billing", **options}
    return kind(handler, "orders", cluster.bootstrap, **settings)


def send(cluster: MockCluster, *values: bytes | None, **options: Any) -> None:
    """Write values to partition 0 of the topic `orders`."""
    with ottla.Producer(cluster.bootstrap) as producer:
        for value in values:
            producer.send("orders", value, partition=0, **options)


def errors_of(record: ottla.Record) -> dict[str, str]:
    """Return the headers that were added to a record when it failed."""
    return {
        name.removeprefix(PREFIX): (value or b"").decode()
        for name, value in record.headers
        if name.startswith(PREFIX)
    }


def content(record: ottla.Record) -> tuple[Any, ...]:
    """Return a record without its leader epoch, which another attempt does not know."""
    place = (record.topic, record.partition, record.offset, record.timestamp)
    return (*place, record.timestamp_type, record.key, record.value, record.headers)
