"""HTTP to the registry: one request, one response, on connections that are kept.

The seam to the network: nothing else in the layer opens a socket for the registry. Waits are
bounded by the timeout, responses in size. A failure without a response is an exception of the HTTP
library that confluent-kafka uses, if the program has imported it, since programs catch that, and
otherwise a ``ConnectionError`` or a ``TimeoutError``.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import ssl
import sys
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Lock
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

# A request without a limit in the configuration must end, too.
DEFAULT_TIMEOUT = 30.0
_MAX_RESPONSE = 64 * 1024 * 1024
_MAX_IDLE = 8
# The HTTP library of confluent-kafka, of which it prefers the newer one.
_HTTPX = ("httpx2", "httpx")


class Response:
    """The status and the body of a response."""

    def __init__(self, status_code: int, content: bytes) -> None:
        self.status_code = status_code
        self.content = content

    def json(self) -> Any:
        """Return the value of the body's JSON."""
        return json.loads(self.content)


class BasicAuth:
    """A user and a password, as the header of a request."""

    def __init__(self, username: str, password: str) -> None:
        token = base64.b64encode(f"{username}:{password}".encode())
        self._auth_header = "Basic " + token.decode("ascii")

    def apply(self, headers: dict[str, str]) -> None:
        """Add the header, unless the caller has one."""
        headers.setdefault("Authorization", self._auth_header)


def transport_errors() -> tuple[type[BaseException], ...]:
    """Return the exceptions of a request without a response."""
    loaded = [sys.modules[name] for name in _HTTPX if name in sys.modules]
    return (OSError, HTTPException, *(module.TransportError for module in loaded))


def _failure(error: Exception, address: str, libraries: tuple[str, ...]) -> Exception:
    text = f"{address}: {str(error) or type(error).__name__}"
    timed_out = isinstance(error, TimeoutError)
    module = next((sys.modules[name] for name in libraries if name in sys.modules), None)
    if module is None:
        return TimeoutError(text) if timed_out else ConnectionError(text)
    # httpx and requests have one name in common.
    names = ("ReadTimeout",) if timed_out else ("ConnectError", "ConnectionError")
    for name in names:
        kind = getattr(module, name, None)
        if kind is not None:
            failure: Exception = kind(text)
            return failure
    return ConnectionError(text)


class Session:
    """Connections to the addresses of a registry. Any thread may use it."""

    def __init__(
        self,
        *,
        verify: ssl.SSLContext | None = None,
        auth: tuple[str, str] | None = None,
        proxy: str | None = None,
        timeout: float | None = None,
        libraries: tuple[str, ...] = _HTTPX,
    ) -> None:
        self._libraries = libraries
        self.auth = None if auth is None else BasicAuth(*auth)
        self._verify = verify
        self._proxy = None if proxy is None else urlsplit(proxy)
        self._timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        self._lock = Lock()
        self._process = os.getpid()
        self._idle: dict[tuple[str, str], list[HTTPConnection]] = {}

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: str | bytes | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Response:
        """Send a request, and return the response whatever its status is."""
        parts = urlsplit(url)
        target = _target(parts, params)
        sent = dict(headers or {})
        if self.auth is not None:
            self.auth.apply(sent)
        body = content.encode() if isinstance(content, str) else content
        proxy = self._proxy_of(parts)
        if proxy is not None and parts.scheme == "http":
            host = parts.netloc.rpartition("@")[2]
            target = f"http://{host}{target}"
            sent.update(_proxy_credentials(proxy))
        key = (parts.scheme, parts.netloc)
        while True:
            connection, reused = self._take(key, parts)
            try:
                connection.request(method, target, body=body, headers=sent)
                response = connection.getresponse()
                data = response.read(_MAX_RESPONSE + 1)
            except (OSError, HTTPException) as error:
                connection.close()
                if reused and not isinstance(error, TimeoutError):
                    # The server had closed an idle connection: the next one is another, or new.
                    continue
                address = f"{parts.hostname}:{connection.port}"
                raise _failure(error, address, self._libraries) from error
            except BaseException:
                connection.close()
                raise
            break
        if len(data) > _MAX_RESPONSE:
            connection.close()
            large = HTTPException("the response is too large")
            raise _failure(large, str(parts.hostname), self._libraries)
        if response.will_close:
            connection.close()
        else:
            self._give_back(key, connection)
        return Response(response.status, data)

    def _take(self, key: tuple[str, str], parts: SplitResult) -> tuple[HTTPConnection, bool]:
        with self._lock:
            if self._process != os.getpid():
                # A child of fork must not write to the connections of its parent.
                self._idle, self._process = {}, os.getpid()
            idle = self._idle.get(key)
            if idle:
                return idle.pop(), True
        return self._connection(parts), False

    def _proxy_of(self, parts: SplitResult) -> SplitResult | None:
        """Return the configured proxy, or else that of the environment."""
        if self._proxy is not None:
            return self._proxy
        proxy = getproxies().get(parts.scheme)
        if proxy is None or proxy_bypass(parts.hostname or ""):
            return None
        return urlsplit(proxy if "://" in proxy else f"http://{proxy}")

    def _connection(self, parts: SplitResult) -> HTTPConnection:
        proxy = self._proxy_of(parts)
        hop = parts if proxy is None else proxy
        host, port = hop.hostname or "", hop.port
        if parts.scheme != "https":
            return HTTPConnection(host, port, timeout=self._timeout)
        if proxy is None:
            return HTTPSConnection(host, port, timeout=self._timeout, context=self._verify)
        connection = HTTPSConnection(host, port or 80, timeout=self._timeout, context=self._verify)
        connection.set_tunnel(
            parts.hostname or "", parts.port or 443, headers=_proxy_credentials(proxy)
        )
        return connection

    def _give_back(self, key: tuple[str, str], connection: HTTPConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(key, [])
            if len(idle) < _MAX_IDLE:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle = [connection for some in self._idle.values() for connection in some]
            self._idle.clear()
        for connection in idle:
            connection.close()


class AsyncSession:
    """The same for asyncio: a thread waits for each response, and the event loop goes on."""

    def __init__(self, **settings: Any) -> None:
        self._session = Session(**settings)
        self.auth = self._session.auth

    async def request(self, method: str, url: str, **arguments: Any) -> Response:
        """Send a request, and return the response whatever its status is."""
        return await asyncio.to_thread(self._session.request, method, url, **arguments)

    async def aclose(self) -> None:
        """Close the idle connections."""
        self._session.close()


def _proxy_credentials(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    auth = BasicAuth(unquote(proxy.username), unquote(proxy.password or ""))
    return {"Proxy-Authorization": auth._auth_header}


def _target(parts: SplitResult, params: Mapping[str, Any] | None) -> str:
    query = [parts.query] if parts.query else []
    if params:
        query.append(urlencode({key: _text(value) for key, value in params.items()}, doseq=True))
    path = parts.path or "/"
    return path + ("?" + "&".join(query) if query else "")


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
