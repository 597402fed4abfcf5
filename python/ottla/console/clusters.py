"""Several clusters in one console: each at ``/cluster/NAME/``, and a page that lists them at ``/``.

Invariants: a cluster has no client before the first request for it; one that cannot be opened or
reached does not affect the others, and says why in its pages and in the list; the list asks no
cluster for anything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

import ottla
from ottla._internal.extras import MissingExtraError
from ottla.console import app
from ottla.console.events import KEEP_ALIVE, server_sent_event
from ottla.console.responses import JSONResponse, event_stream, problem
from ottla.console.routes.context import Context
from ottla.errors import ConfigError, KafkaError, StateError

_PATH = "/cluster"
# Seconds between comments in the stream of a cluster that could not be opened.
_KEEP_ALIVE = 10.0


@dataclass(frozen=True)
class NamedCluster:
    """A cluster of a console of several.

    Attributes:
        name: its name.
        servers: its addresses, for the list; empty if they are unknown.
        open: makes its client, which the stack closes, and its context. It runs in a thread.
    """

    name: str
    servers: str
    open: Callable[[ExitStack], Context]

    @property
    def path(self) -> str:
        """The path of its pages, without the last slash."""
        return f"{_PATH}/{quote(self.name, safe='')}"


class Clusters:
    """The application of several clusters.

    Args:
        clusters: the clusters, with different names.
        allow_changes: whether pages may change them.

    Raises:
        ConfigError: a name cannot be in an address.
    """

    def __init__(self, clusters: Sequence[NamedCluster], *, allow_changes: bool) -> None:
        for each in clusters:
            if each.name in {".", ".."}:
                raise ConfigError(
                    f"a cluster cannot have the name {each.name!r}, which browsers remove from "
                    "addresses: give its profile another name"
                )
        self._members = {each.name: _Member(each, allow_changes) for each in clusters}
        self._allow_changes = allow_changes

    def application(self) -> Starlette:
        """Return the application."""

        async def clusters(_: Request) -> Response:
            return JSONResponse(
                {
                    "version": ottla.__version__,
                    "allow_changes": self._allow_changes,
                    "clusters": [each.state() for each in self._members.values()],
                }
            )

        return app.starlette(
            [
                app.static(),
                app.page_route("clusters.html"),
                Route("/api/clusters", clusters),
                Mount(_PATH, self._respond),
            ],
            self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        app.limit_threads()
        try:
            yield
        finally:
            await asyncio.gather(*(each.stop() for each in self._members.values()))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request for a cluster."""
        # The decoded path does not tell a slash in a name from one after it.
        path = scope["raw_path"].partition(b"?")[0].removeprefix(_PATH.encode() + b"/")
        encoded, slash, rest = path.partition(b"/")
        name = unquote_to_bytes(encoded).decode()
        member = self._members.get(name)
        if member is None:
            response: ASGIApp = problem(404, f"there is no cluster {name!r}: the page / lists them")
        elif not slash:
            response = RedirectResponse(f"{member.cluster.path}/")
        else:
            response = await member.application(is_page=not rest)
            scope = {**scope, "root_path": f"{_PATH}/{name}"}
        await response(scope, receive, send)

    async def end_streams(self) -> None:
        """End the streams of all pages."""
        await asyncio.gather(*(each.end_streams() for each in self._members.values()))

    def close(self) -> None:
        """Close the clients, after the server has ended."""
        for each in self._members.values():
            each.close()


class _Member:
    """A cluster, and its client and application once they are made."""

    def __init__(self, cluster: NamedCluster, allow_changes: bool) -> None:
        self.cluster = cluster
        self._allow_changes = allow_changes
        self._clients = ExitStack()
        self._observing = AsyncExitStack()
        self._context: Context | None = None
        self._application: ASGIApp | None = None
        self._error: Exception | None = None
        self._failed_at = 0.0
        self._opening = asyncio.Lock()
        # Set when the reason why it could not be opened does not hold any more.
        self._recovered = asyncio.Event()
        self._is_closed = False

    def state(self) -> dict[str, Any]:
        """Return its name, and whether it was reached when it was last asked."""
        state, reason, seen = "not_opened", None, None
        if self._context is not None:
            observer = self._context.observer
            reason, seen = observer.problem, observer.refreshed
            state = "problem" if reason else "reachable" if observer.topology else "connecting"
        elif self._error is not None:
            state, reason, seen = "problem", str(self._error), self._failed_at
        return {
            "name": self.cluster.name,
            "path": f"{self.cluster.path}/",
            "servers": self.cluster.servers,
            "state": state,
            "problem": reason,
            "time": seen,
        }

    async def application(self, *, is_page: bool) -> ASGIApp:
        """Return its application, which has its client.

        If the client could not be made, opening the page tries again.
        """
        async with self._opening:
            if self._application is None and (self._error is None or is_page):
                await self._open()
            return self._application or self._unopened(self._error)

    async def _open(self) -> None:
        if self._is_closed:
            raise StateError("the console was closed")
        try:
            self._context = await asyncio.to_thread(self.cluster.open, self._clients)
        except (KafkaError, MissingExtraError) as error:
            self._clients.close()
            self._error, self._failed_at = error, time.time()
            return
        self._error = None
        self._application = app.application(self._context)
        await self._observing.enter_async_context(app.observed(self._context))
        self._recovered.set()

    def _unopened(self, error: Exception | None) -> ASGIApp:
        """Return the application of a cluster that could not be opened: a page that says why."""
        assert error is not None, "it was opened, or there is a reason"
        message = str(error)

        async def about(_: Request) -> Response:
            return JSONResponse(
                {
                    "version": ottla.__version__,
                    "kind": "client",
                    "group_id": None,
                    "allow_changes": self._allow_changes,
                    "has_registry": False,
                    "has_gateways": False,
                    "simulation": False,
                    "cluster": self.cluster.name,
                }
            )

        async def events() -> AsyncIterator[str]:
            yield server_sent_event("problem", {"message": message})
            # Its end makes the page connect again.
            while not self._recovered.is_set():
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._recovered.wait(), _KEEP_ALIVE)
                    return
                yield KEEP_ALIVE

        async def stream(_: Request) -> Response:
            return event_stream(events())

        async def refuse(_: Request) -> Response:
            return problem(503, message)

        return app.starlette(
            [
                app.page_route(),
                Route("/api/about", about),
                Route("/api/stream", stream),
                Route("/api/{path:path}", refuse, methods=["GET", "POST"]),
            ]
        )

    async def end_streams(self) -> None:
        """End the streams of its pages."""
        self._is_closed = True
        self._recovered.set()
        if self._context is not None:
            await self._context.observer.close()

    async def stop(self) -> None:
        """Stop observing it."""
        await self.end_streams()
        async with self._opening:
            await self._observing.aclose()

    def close(self) -> None:
        """Close its client."""
        self._clients.close()
