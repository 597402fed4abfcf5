"""A pytest plugin for the suite of the registry's clients: its mocked routes, over HTTP.

The suite mocks the registry by respx, which replaces httpx's transport. confluent-kafka uses httpx
only if httpx2 cannot be imported. ottla's stand-in uses no library for HTTP: the same routes are
served on a loopback socket here, at the address that the suite names.
"""

from __future__ import annotations

import http.server
import importlib.abc
import os
import socket
import sys
import threading
from typing import Any

import httpx
import respx.router

_HOST, _PORT = "schemaregistry", 65534


class _WithoutHttpx2(importlib.abc.MetaPathFinder):
    """Makes `import httpx2` fail, as if it were not installed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name.partition(".")[0] == "httpx2":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, _WithoutHttpx2())

_active: list[respx.router.MockRouter] = []
"""The routers that tests have started, the newest last."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write no log."""

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = httpx.Request(
            self.command,
            f"http://{self.headers['Host']}{self.path}",
            headers=list(self.headers.items()),
            content=body,
        )
        try:
            response = _active[-1].handler(request) if _active else httpx.Response(503)
            status, content = response.status_code, response.content
        except Exception as error:  # noqa: BLE001 - the client must see each failure of a route
            status, content = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _respond  # noqa: N815 - the base class's names


def _serve() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", _PORT), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def _resolve_registry() -> None:
    """Resolve the registry's name, while a test mocks it."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **keywords: Any) -> Any:
        if str(host).lower() == _HOST:
            if not _active:
                raise socket.gaierror("no test mocks the registry")
            host = "127.0.0.1"
        return resolve(host, *arguments, **keywords)

    socket.getaddrinfo = getaddrinfo


def _follow_routers() -> None:
    router = respx.router.MockRouter
    start, stop = router.start, router.stop

    def started(self: Any) -> None:
        _active.append(self)
        start(self)

    def stopped(self: Any, *arguments: Any, **keywords: Any) -> None:
        if self in _active:
            _active.remove(self)
        stop(self, *arguments, **keywords)

    router.start, router.stop = started, stopped


if "OTTLA_PEER_LAYER" in os.environ:
    _serve()
    _resolve_registry()
    _follow_routers()
