"""FastAPI with ottla.processing: a processor beside the application, and probes of its state."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response

from ottla import Record
from ottla.processing import AsyncProcessor

logger = logging.getLogger("uvicorn.error")


class UnknownCustomer(Exception):
    pass


async def bill(order: Record[Any, Any]) -> None:
    if order.value["customer"] is None:
        raise UnknownCustomer(f"order {order.value['id']} has no customer")
    await processor.producer.send("invoices", json.dumps(order.value), order.key)


processor = AsyncProcessor(
    bill,
    "orders",
    os.environ["KAFKA"],
    group_id="billing",
    value_deserializer=json.loads,
    retry_delays=[1],
    dead_letter_on=[UnknownCustomer],
    create_topics=True,
)


async def run_processor() -> None:
    try:
        await processor.run()
    except Exception:
        # The probe below reports it; the log says why.
        logger.exception("billing has ended")
        raise


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.billing = asyncio.create_task(run_processor())
    yield
    # The order in hand is finished and committed, and the process leaves the group.
    processor.stop()
    await asyncio.gather(app.state.billing, return_exceptions=True)


app = FastAPI(lifespan=lifespan)


@app.get("/health")
async def health(request: Request, response: Response) -> dict[str, Any]:
    is_running = not request.app.state.billing.done()
    if not is_running:
        response.status_code = 503
    return {"billing": "running" if is_running else "ended", **processor.metrics()}
