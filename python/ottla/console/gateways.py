"""The connections and events of gateways, from the addresses of their status.

Invariant: what a gateway responds is bounded in bytes and time, and checked before it is shown; a
gateway that does not respond, or not as this version does, hides nothing of the others.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from ottla._internal.arguments import names
from ottla.console.gateway_rows import event_of, row_of
from ottla.errors import ConfigError

# Seconds for all that a gateway is asked for.
_TIMEOUT = 5.0
# Some 60,000 connections.
_MAX_BYTES = 64 * 1024 * 1024
_OTHER_VERSION = "this is no status of a gateway, or one of another version"


def gateway_urls(given: Sequence[str]) -> tuple[str, ...]:
    """Return the URLs of gateways' status, without a slash at their ends.

    Raises:
        ConfigError: one is no URL of HTTP.
    """
    urls = names("gateways", given)
    for url in urls:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        whole = parts.scheme in {"http", "https"} and parts.hostname and port != 0
        if not whole or parts.query or parts.fragment or parts.username is not None:
            raise ConfigError(
                "gateways: expected the address of a gateway's --status, such as "
                f"http://127.0.0.1:19091, got {_without_user(url)!r}"
            )
    return tuple(url.rstrip("/") for url in urls)


def _without_user(url: str) -> str:
    return url.rpartition("@")[2]


def fetch(url: str) -> dict[str, Any]:
    """Return the connections and the events of a gateway as rows, or its ``problem``."""
    end = time.monotonic() + _TIMEOUT
    try:
        connections = [row_of(each, url) for each in _documents(f"{url}/connections", end)]
        events = [event_of(each, url) for each in _documents(f"{url}/events", end)]
    except TypeError as error:
        problem = f"{url}: {_OTHER_VERSION}: {error}"
    except (OSError, HTTPException, ValueError) as error:
        problem = f"{url}: {error}"
    except RecursionError:
        problem = f"{url}: {_OTHER_VERSION}"
    else:
        return {"connections": connections, "events": events, "problem": None}
    return {"connections": [], "events": [], "problem": problem}


def _documents(url: str, end: float) -> list[Any]:
    """Return the list at a URL, which has to be complete at ``end``."""
    documents = json.loads(_body(url, end), parse_constant=_refuse)
    if not isinstance(documents, list):
        raise TypeError("expected a list")
    return documents


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _body(url: str, end: float) -> bytes:
    parts = urlsplit(url)
    # An address that the operator gave is asked itself, not a proxy of the environment.
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=max(0.001, end - time.monotonic()))
    with contextlib.closing(connection):
        connection.connect()
        with _cut_off(connection.sock, end):
            connection.request("GET", parts.path)
            with connection.getresponse() as response:
                if response.status != 200:
                    raise OSError(f"HTTP status {response.status} {response.reason}")
                body = response.read(_MAX_BYTES + 1)
    if len(body) > _MAX_BYTES:
        raise ValueError(f"the response has more than {_MAX_BYTES} bytes")
    return body


@contextlib.contextmanager
def _cut_off(sock: socket.socket, end: float) -> Iterator[None]:
    """Shut a socket down at ``end``: its own timeout begins again with each byte.

    Raises:
        TimeoutError: it was shut down.
    """
    is_late = threading.Event()

    def cut_off() -> None:
        is_late.set()
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    deadline = threading.Timer(max(0.0, end - time.monotonic()), cut_off)
    deadline.daemon = True
    deadline.start()
    late = TimeoutError(f"the response was not complete after {_TIMEOUT:g} s")
    try:
        yield
    except (OSError, HTTPException, ValueError) as error:
        # The socket's own timeout may end the wait a moment before.
        if is_late.is_set() or isinstance(error, TimeoutError):
            raise late from None
        raise
    finally:
        deadline.cancel()
    # It reads as if the gateway had ended the response.
    if is_late.is_set():
        raise late
