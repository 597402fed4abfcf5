"""A console's server: its socket, its thread, and its address.

Invariants: the socket is bound before anything starts, so the caller gets the error if the port is
taken; closing ends all streams, all connections and the thread within seconds.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from ottla.console import connections
from ottla.console.access import Access
from ottla.console.address import Address, is_loopback
from ottla.console.ending import Ending
from ottla.console.protocol import protocol_of
from ottla.console.tls import secured
from ottla.errors import ConfigError, InternalError, described

# The connections that the system queues, and the connections that are accepted at a time.
_WAITING, _ACCEPTED = 128, 8
_MAX_HEADER_BYTES = 65_536
# Seconds for the start, and for open responses at the end.
_START_TIMEOUT = 30.0
_CLOSE_TIMEOUT = 2


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        ConfigError: the port is taken, or the address does not belong to this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"the console cannot listen at {host}:{port}: {error}") from error
    try:
        # This allows reusing the port of a console that has just ended.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        remedy = "choose another port, or 0 for any free one"
        message = f"the console cannot listen at {host}:{port}: {error.strerror}: {remedy}"
        raise ConfigError(message) from error
    return listening


class _Uvicorn(uvicorn.Server):
    """uvicorn's server, which accepts few connections at a time.

    Otherwise it would accept all waiting connections before it could refuse any of them, and each
    would take a descriptor of the application.

    Attributes:
        ready: set once it serves. An earlier exit of uvicorn would not end the application.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, with a longer queue of waiting connections than are accepted at a time."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_WAITING)

    async def main_loop(self) -> None:
        """Serve until the end."""
        self.ready.set()
        await super().main_loop()


class Server:
    """A running server.

    Args:
        application: the application.
        end_streams: ends the streams of its pages, in the server's event loop.
        listening: the socket.
        address: the names of the address, its token, and its TLS.
    """

    def __init__(
        self,
        application: ASGIApp,
        end_streams: Callable[[], Coroutine[Any, Any, None]],
        listening: socket.socket,
        address: Address,
    ) -> None:
        self._end_streams = end_streams
        self._socket = listening
        self.port: int = listening.getsockname()[1]
        tls = address.tls
        self._ending = Ending(application)
        app = Access(
            self._ending,
            token=address.token,
            hosts=address.names,
            # The machine may have any IP address.
            any_address=not is_loopback(address.host),
            port=self.port,
            is_encrypted=tls is not None,
        )
        self._connections = connections.of_this_process()
        http = protocol_of(self._connections)
        # uvicorn calls it for each connection, as it does a class.
        protocol = cast(Any, http if tls is None else secured(http, tls, self._connections))
        self._server = _Uvicorn(
            uvicorn.Config(
                app,
                http=protocol,
                ws="none",
                lifespan="on",
                log_config=None,
                server_header=False,
                proxy_headers=False,
                backlog=_ACCEPTED,
                h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
                timeout_graceful_shutdown=_CLOSE_TIMEOUT,
            )
        )
        self._error: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="ottla-console", daemon=True)

    def start(self) -> None:
        """Start the thread, and wait until it serves.

        Raises:
            InternalError: the server did not start.
        """
        self._thread.start()
        self._server.ready.wait(_START_TIMEOUT)
        if not self._server.started:
            self.close()
            raise InternalError(f"the console did not start: {self._error or 'no response'}")

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - start() or wait() raises it
            self._error = error
        finally:
            self._socket.close()
            # The thread may have ended before the server was ready.
            self._server.ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        watch = asyncio.ensure_future(self._connections.watch())
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            watch.cancel()
            # A peer that does not read its response would keep its connection open.
            self._connections.close()

    async def _end_responses(self) -> None:
        self._ending.end()
        await self._end_streams()

    def close(self) -> None:
        """End the server. Closing a closed one has no effect."""
        self._server.should_exit = True
        if self._loop is not None and self._thread.is_alive():
            end = self._end_responses()
            try:
                asyncio.run_coroutine_threadsafe(end, self._loop)
            except RuntimeError:  # the loop has just ended
                end.close()
        if self._thread is not threading.current_thread() and self._thread.ident is not None:
            self._thread.join(_CLOSE_TIMEOUT + 8)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server ends; return whether it has ended.

        Raises:
            InternalError: the server has failed.
        """
        self._thread.join(timeout)
        if self._error is not None:
            message = f"the console has failed: {described(self._error)}"
            raise InternalError(message) from self._error
        return not self._thread.is_alive()
