"""asyncio: read orders, enrich them, write invoices; nothing is lost if a step fails.

    pip install ottla
    python examples/asyncio_pipeline.py                      # with a Kafka cluster in the process
    OTTLA_BOOTSTRAP=host:9092 python examples/asyncio_pipeline.py

Offsets are committed after the invoices of a batch are acknowledged. A crash in between reads the
batch again: each invoice is written at least once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator

import ottla
from ottla import deserializers, serializers
from ottla.testing import MockCluster

ORDERS = 1_000


@contextlib.contextmanager
def kafka() -> Iterator[str]:
    """The address of a cluster: yours, or one that lives in this process."""
    if given := os.environ.get("OTTLA_BOOTSTRAP"):
        yield given
    else:
        with MockCluster(brokers=3, default_partitions=3) as cluster:
            yield cluster.bootstrap


async def place_orders(bootstrap: str) -> None:
    """Write the input: all sends at once, then wait for all acknowledgements."""
    async with ottla.AsyncProducer(bootstrap, value_serializer=serializers.json) as producer:
        await asyncio.gather(
            *(
                producer.send("example-orders", {"id": n, "cents": n * 10}, key=b"%d" % (n % 10))
                for n in range(ORDERS)
            )
        )


async def write_invoices(bootstrap: str) -> int:
    """Copy orders to invoices until all are there; return how many were written."""
    consumer = ottla.AsyncConsumer(
        bootstrap,
        group_id="example-invoicing",
        topics=["example-orders"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        value_deserializer=deserializers.json,
    )
    producer = ottla.AsyncProducer(
        bootstrap, value_serializer=serializers.json, compression_type="lz4"
    )
    written = 0
    async with consumer, producer:
        while written < ORDERS:
            orders = await consumer.poll(timeout=10)
            invoices = [
                producer.send(
                    "example-invoices", {"order": order.value["id"], "paid": False}, key=order.key
                )
                for order in orders
            ]
            await asyncio.gather(*invoices)
            await consumer.commit()
            written += len(invoices)
    return written


async def main() -> None:
    with kafka() as bootstrap:
        await place_orders(bootstrap)
        written = await write_invoices(bootstrap)
        print(f"{written} invoices written")


if __name__ == "__main__":
    asyncio.run(main())
