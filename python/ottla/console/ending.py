"""The end of a console's requests: those that still wait for the cluster get a response at once.

Invariant: a cluster that does not respond delays no end. Changes, and responses that have begun,
are left to the server, which waits for them for a moment.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ottla.console.responses import problem


class Ending:
    """The ASGI middleware that ends waiting requests.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ended = asyncio.Event()
        # Those whose response has not begun.
        self._waiting: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """End the waiting requests, and refuse further ones. Call it in the event loop."""
        self._ended.set()
        for each in self._waiting:
            each.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        # A change that was sent goes on, and its outcome is worth a wait.
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return

        async def begin(message: Message) -> None:
            self._waiting.discard(task)
            await send(message)

        async def respond() -> None:
            await self._app(scope, receive, begin)

        task = asyncio.ensure_future(respond())
        self._waiting.add(task)
        if self._ended.is_set():
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            if not self._ended.is_set() or task not in self._waiting:
                raise
            await problem(503, "the console was closed")(scope, receive, send)
        finally:
            self._waiting.discard(task)
            task.cancel()
