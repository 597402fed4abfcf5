"""One loop of Python calls, repeated as often as asked.

    python -m benches.instructions.python_calls NAME ROUNDS

A cluster in the process serves the calls; the counts are of the calling thread alone.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import cache

import pyarrow as pa

import ottla
from ottla.testing import MockCluster

# The records of a round, and of all rounds: as many are there in a shorter run, too.
RECORDS = 2_000
STORED = 40_000
# The rows of a table.
ROWS = 20_000
VALUE = b"v" * 100
TOPIC = "records"


def send(producer: ottla.Producer) -> None:
    """Send records one by one."""
    for _ in range(RECORDS):
        producer.send(TOPIC, VALUE, key=b"some-key", partition=0)
    producer.flush()


def send_list(producer: ottla.Producer) -> None:
    """Send a list of values."""
    producer.send_batch(TOPIC, [VALUE] * RECORDS).result()


def send_arrow(producer: ottla.Producer) -> None:
    """Send a column of values."""
    producer.send_batch(TOPIC, table()).result()


@cache
def table() -> pa.Table:
    """Return a table of the values."""
    return pa.table({"value": pa.array([VALUE] * ROWS, pa.binary())})


def poll(consumer: ottla.Consumer) -> None:
    """Poll records as objects, and touch their values."""
    seen = 0
    while seen < RECORDS:
        for record in consumer.poll(timeout=10, max_records=500):
            seen += record.value is not None


def iterate(consumer: ottla.Consumer) -> None:
    """Iterate over records."""
    for seen, record in enumerate(consumer, start=1):
        if record.value is None or seen == RECORDS:
            return


async def iterate_async(consumer: ottla.AsyncConsumer) -> None:
    """Iterate over records in a task."""
    seen = 0
    async for record in consumer:
        seen += record.value is not None
        if seen == RECORDS:
            return


async def await_sends(producer: ottla.AsyncProducer) -> None:
    """Send records, and then await their acknowledgements."""
    for future in [producer.send(TOPIC, VALUE, partition=0) for _ in range(RECORDS)]:
        await future


def send_with_callback(producer: ottla.Producer) -> None:
    """Send records with a callback each; the thread that calls it is not counted."""
    for _ in range(RECORDS):
        producer.send(TOPIC, VALUE, partition=0, on_delivery=_ignore)
    producer.flush()


def _ignore(error: BaseException | None, metadata: ottla.RecordMetadata) -> None:
    """Do what the cheapest callback does."""


def poll_arrow(consumer: ottla.Consumer) -> None:
    """Poll batches of columns."""
    seen = 0
    while seen < RECORDS:
        batch = consumer.poll_arrow(timeout=10, max_rows=RECORDS)
        seen += batch.num_rows if batch is not None else 0


PRODUCING: dict[str, Callable[[ottla.Producer], None]] = {
    "send": send,
    "send-callback": send_with_callback,
    "send-list": send_list,
    "send-arrow": send_arrow,
}
CONSUMING: dict[str, Callable[[ottla.Consumer], None]] = {
    "poll": poll,
    "iterate": iterate,
    "poll-arrow": poll_arrow,
}
ASYNC_PRODUCING: dict[str, Callable[[ottla.AsyncProducer], Awaitable[None]]] = {
    "send-await": await_sends,
}
ASYNC_CONSUMING: dict[str, Callable[[ottla.AsyncConsumer], Awaitable[None]]] = {
    "iterate-async": iterate_async,
}


async def produce(bootstrap: str, name: str, rounds: int) -> None:
    """Run a scenario of an AsyncProducer."""
    async with ottla.AsyncProducer(bootstrap) as producer:
        for _ in range(rounds):
            await ASYNC_PRODUCING[name](producer)


async def consume(bootstrap: str, name: str, rounds: int) -> None:
    """Run a scenario of an AsyncConsumer."""
    async with ottla.AsyncConsumer(bootstrap) as consumer:
        consumer.assign([(TOPIC, 0)])
        consumer.seek(TOPIC, 0, 0)
        for _ in range(rounds):
            await ASYNC_CONSUMING[name](consumer)


def main(name: str, rounds: int) -> None:
    """Run a scenario."""
    with MockCluster() as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        if name in PRODUCING:
            with ottla.Producer(cluster.bootstrap) as producer:
                for _ in range(rounds):
                    PRODUCING[name](producer)
            return
        if name in ASYNC_PRODUCING:
            asyncio.run(produce(cluster.bootstrap, name, rounds))
            return
        cluster.append(TOPIC, 0, [VALUE] * STORED)
        if name in ASYNC_CONSUMING:
            asyncio.run(consume(cluster.bootstrap, name, rounds))
            return
        with ottla.Consumer(cluster.bootstrap) as consumer:
            consumer.assign([(TOPIC, 0)])
            consumer.seek(TOPIC, 0, 0)
            for _ in range(rounds):
                CONSUMING[name](consumer)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
