"""FastStream on aiokafka: orders become invoices one by one, invoices totals in batches."""

import asyncio
import os
from typing import Any

import ottla.compat

ottla.compat.install("aiokafka")

from faststream import AckPolicy, BaseMiddleware, FastStream
from faststream.kafka import KafkaBroker, KafkaMessage
from pydantic import BaseModel


class Order(BaseModel):
    id: int
    amount: int


class Total(BaseModel):
    ids: list[int]
    amount: int


class Source(BaseMiddleware):
    """Names this service in a header of every record that it publishes."""

    async def publish_scope(self, call_next: Any, cmd: Any) -> Any:
        cmd.headers["source"] = "billing"
        return await call_next(cmd)


broker = KafkaBroker(os.environ["KAFKA"], middlewares=[Source])
app = FastStream(broker)
invoices = broker.publisher("invoices")
attempted: set[int] = set()


@broker.subscriber(
    "orders", group_id="billing", auto_offset_reset="earliest", ack_policy=AckPolicy.MANUAL
)
async def bill(order: Order, message: KafkaMessage) -> None:
    if order.id % 10 == 0 and order.id not in attempted:
        # Rejected once: the record is delivered again.
        attempted.add(order.id)
        await message.nack()
        return
    await invoices.publish(order, key=str(order.id).encode())
    await message.ack()


@broker.subscriber(
    "invoices",
    group_id="ledger",
    auto_offset_reset="earliest",
    batch=True,
    max_records=50,
    ack_policy=AckPolicy.ACK,
)
@broker.publisher("totals")
async def add_up(batch: list[Order]) -> Total:
    return Total(ids=[order.id for order in batch], amount=sum(order.amount for order in batch))


if __name__ == "__main__":
    asyncio.run(app.run())
