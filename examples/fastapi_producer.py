"""FastAPI with one producer for the process: a request returns when its record is in the log.

pip install ottla fastapi uvicorn
KAFKA=host:9092 uvicorn examples.fastapi_producer:app
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

import ottla


class Order(BaseModel):
    """An order as clients send it."""

    customer: str
    cents: int


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect before the first request; write unsent records before the process ends."""
    async with ottla.AsyncProducer(os.environ["KAFKA"], linger_ms=2) as producer:
        app.state.producer = producer
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
async def place_order(order: Order, request: Request) -> dict[str, int]:
    """Write an order. Orders of one customer are in one partition, in order."""
    producer: ottla.AsyncProducer = request.app.state.producer
    try:
        written = await producer.send(
            "orders", order.model_dump_json().encode(), key=order.customer.encode()
        )
    except ottla.KafkaError as error:
        # With maybe_done the order may be in the log: the client has to ask before it repeats it.
        raise HTTPException(500 if error.maybe_done else 503, str(error)) from error
    return {"partition": written.partition, "offset": written.offset}
