"""The console's web application: the page, its scripts and styles, the stream, and the routes.

Invariant: the observer runs as long as the application does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

import ottla
from ottla.console import responses
from ottla.console.query import Utf8Only
from ottla.console.responses import JSONResponse
from ottla.console.routes import (
    access_control,
    brokers,
    changes,
    doctor,
    groups,
    messages,
    registry,
    simulation,
    topics,
)
from ottla.console.routes.context import Context
from ottla.errors import KafkaError

STATIC = Path(__file__).parent / "static"
MAX_PAGES = 200
"""Pages that may be open at once: each holds a connection."""

# Threads that read the page's files, instead of forty by default.
_FILE_THREADS = 2
_REVALIDATE = {"cache-control": "no-cache"}


def application(context: Context) -> Starlette:
    """Return the application over one client."""

    @asynccontextmanager
    async def observe(_: Starlette) -> AsyncIterator[None]:
        # The limit belongs to this event loop, and does not change the application's own.
        current_default_thread_limiter().total_tokens = _FILE_THREADS
        task = asyncio.ensure_future(context.observer.run())
        try:
            with simulation.commentary(context):
                yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
            context.workers.close()

    return Starlette(
        routes=[
            *_routes(context),
            *topics.routes(context),
            *brokers.routes(context),
            *groups.routes(context),
            *messages.routes(context),
            *registry.routes(context),
            *doctor.routes(context),
            *changes.routes(context),
            *access_control.routes(context),
            *simulation.routes(context),
        ],
        middleware=[Middleware(Utf8Only)],
        exception_handlers={
            KafkaError: responses.on_kafka_error,
            HTTPException: responses.on_http_error,
            Exception: responses.on_failure,
        },
        lifespan=observe,
    )


def _routes(context: Context) -> list[BaseRoute]:
    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers=_REVALIDATE)

    async def about(_: Request) -> Response:
        return JSONResponse(
            {
                "version": ottla.__version__,
                "kind": context.source.kind,
                "group_id": context.source.group_id,
                "allow_changes": context.allow_changes,
                "has_registry": context.registry is not None,
                "simulation": context.simulation is not None,
            }
        )

    async def stream(_: Request) -> Response:
        if context.observer.pages >= MAX_PAGES:
            return responses.problem(503, f"{MAX_PAGES} pages are open: close some")
        return StreamingResponse(
            context.observer.stream(),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
        )

    return [
        Route("/", page),
        Route("/api/about", about),
        Route("/api/stream", stream),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
