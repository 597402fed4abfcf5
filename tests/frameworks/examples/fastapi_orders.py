"""FastAPI with aiokafka: a view that produces, and a task that consumes, in each worker."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import ottla.compat

# In the module that each worker imports: uvicorn's workers are new processes.
ottla.compat.install("aiokafka")

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from fastapi import FastAPI, Request

KAFKA = os.environ["KAFKA"]


async def bill(producer: AIOKafkaProducer) -> None:
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=KAFKA,
        group_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        async for order in consumer:
            await producer.send_and_wait("invoices", order.value, key=order.key)
            await consumer.commit()
    finally:
        await consumer.stop()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.producer = AIOKafkaProducer(bootstrap_servers=KAFKA)
    await app.state.producer.start()
    billing = asyncio.create_task(bill(app.state.producer))
    yield
    billing.cancel()
    await asyncio.gather(billing, return_exceptions=True)
    await app.state.producer.stop()


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{number}")
async def order(number: int, request: Request) -> dict[str, int]:
    sent = await request.app.state.producer.send_and_wait(
        "orders", await request.body(), key=str(number).encode()
    )
    return {"partition": sent.partition, "offset": sent.offset, "worker": os.getpid()}
