"""The console's web application: the page, its scripts and styles, the stream, and the routes.

Invariant: the observer runs as long as the application does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
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
    clients,
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
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        limit_threads()
        async with observed(context):
            yield

    return starlette(
        [
            static(),
            *_routes(context),
            *topics.routes(context),
            *brokers.routes(context),
            *groups.routes(context),
            *messages.routes(context),
            *registry.routes(context),
            *clients.routes(context),
            *doctor.routes(context),
            *changes.routes(context),
            *access_control.routes(context),
            *simulation.routes(context),
        ],
        lifespan,
    )


def starlette(
    routes: Sequence[BaseRoute],
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None,
) -> Starlette:
    """Return an application with the console's responses to errors."""
    return Starlette(
        routes=routes,
        middleware=[Middleware(Utf8Only)],
        exception_handlers={
            KafkaError: responses.on_kafka_error,
            HTTPException: responses.on_http_error,
            Exception: responses.on_failure,
        },
        lifespan=lifespan,
    )


def limit_threads() -> None:
    """Limit the threads that read files, in this event loop and not in the application's own."""
    current_default_thread_limiter().total_tokens = _FILE_THREADS


@asynccontextmanager
async def observed(context: Context) -> AsyncIterator[None]:
    """Observe a cluster in the ``async with`` block."""
    task = asyncio.ensure_future(context.observer.run())
    try:
        with simulation.commentary(context):
            yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await task
        context.workers.close()


def static() -> BaseRoute:
    """Return the route of the files of the pages."""
    return Mount("/static", StaticFiles(directory=STATIC))


def page_route(name: str = "index.html") -> BaseRoute:
    """Return the route of a page."""

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / name, headers=_REVALIDATE)

    return Route("/", page)


def _routes(context: Context) -> list[BaseRoute]:
    async def about(_: Request) -> Response:
        return JSONResponse(
            {
                "version": ottla.__version__,
                "kind": context.source.kind,
                "group_id": context.source.group_id,
                "allow_changes": context.allow_changes,
                "has_registry": context.registry is not None,
                "has_gateways": bool(context.gateways),
                "simulation": context.simulation is not None,
                "cluster": context.name,
            }
        )

    async def stream(_: Request) -> Response:
        if context.observer.pages >= MAX_PAGES:
            return responses.problem(503, f"{MAX_PAGES} pages are open: close some")
        return responses.event_stream(context.observer.stream())

    return [page_route(), Route("/api/about", about), Route("/api/stream", stream)]
