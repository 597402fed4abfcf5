"""The status of a gateway over HTTP: JSON for people and the console, text for Prometheus.

Invariants: it changes nothing but faults, if these are allowed, and knows nothing that is secret.
One request is served at a time, in one thread, and each has a few seconds, so that whoever asks
cannot slow the gateway.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ottla import _core, prometheus
from ottla.errors import ClosedError, ConfigError
from ottla.gateway.connection import connection_of
from ottla.gateway.event import event_of
from ottla.gateway.prometheus_text import render
from ottla.gateway.totals import totals_of

_log = logging.getLogger("ottla.gateway")

_JSON = "application/json"
_TIMEOUT = 5.0
"""Seconds for which a request may take to arrive, and its response to leave."""
_BODY_MAX = 64 * 1024
"""The longest body of a request, in bytes."""


class StatusServer:
    """Serves the status of a gateway, in a thread of its own, until it is closed.

    Args:
        gateway: the gateway.
        host: the IP address to listen at.
        port: the port; 0 takes any free one.

    Raises:
        ConfigError: the address cannot be opened.
    """

    def __init__(self, gateway: _core.Gateway, host: str, port: int) -> None:
        documents = _documents(gateway)

        class Handler(_Handler):
            routes = documents
            faults = gateway.fault_request

        family = _Server6 if ":" in host else _Server
        try:
            self._server = family((host, port), Handler)
        except OSError as error:
            message = f"--status: cannot listen at {host}:{port}: {error.strerror or error}"
            raise ConfigError(message) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="ottla-gateway-status", daemon=True
        )
        self._thread.start()
        self.address = f"[{host}]" if ":" in host else host
        self.address += f":{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> StatusServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_Route = Callable[[dict[str, list[str]]], tuple[str, str]]


def _documents(gateway: _core.Gateway) -> dict[str, _Route]:
    """Return what is served by path: the content type and the text."""

    def connections(_: dict[str, list[str]]) -> tuple[str, str]:
        return _JSON, _text([asdict(connection_of(values)) for values in gateway.sessions()])

    def totals(_: dict[str, list[str]]) -> tuple[str, str]:
        return _JSON, _text(asdict(totals_of(gateway.totals())))

    def brokers(_: dict[str, list[str]]) -> tuple[str, str]:
        addresses = [{"id": broker, "address": at} for broker, at in gateway.brokers.items()]
        return _JSON, _text({"bootstrap": gateway.bootstrap, "brokers": addresses})

    def events(query: dict[str, list[str]]) -> tuple[str, str]:
        after = query.get("after", ["0"])[0]
        if not after.isdecimal() or len(after) > 18:
            raise ValueError(f"after: expected the number of an event, got {after[:40]!r}")
        found = map(event_of, gateway.events(int(after)))
        documents = [
            {**asdict(event), "time": event.time.isoformat(), "text": str(event)} for event in found
        ]
        return _JSON, _text(documents)

    def metrics(_: dict[str, list[str]]) -> tuple[str, str]:
        open_now = map(connection_of, gateway.sessions())
        return prometheus.CONTENT_TYPE, render(open_now, totals_of(gateway.totals()))

    return {
        "/connections": connections,
        "/totals": totals,
        "/brokers": brokers,
        "/events": events,
        "/metrics": metrics,
    }


def _text(document: Any) -> str:
    return json.dumps(document)


def _is_loopback(host: str) -> bool:
    address = ipaddress.ip_address(host)
    # What a socket of both protocols has in place of an address of IPv4.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


class _Server(HTTPServer):
    """One request at a time."""

    def handle_error(self, _: object, client_address: object) -> None:
        """Log a connection that broke; one who asks is no reason for a traceback."""
        _log.debug("the status could not be sent to %s", client_address, exc_info=True)


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """Responds to GET, and to requests about faults."""

    routes: dict[str, _Route] = {}  # noqa: RUF012 - a subclass for each server sets it
    faults: Callable[[str, str, str | None, str | None, bytes], tuple[int, str, str]]
    timeout = _TIMEOUT
    server_version = "ottla"
    sys_version = ""

    def setup(self) -> None:
        """Begin with a connection, which has to end in time."""
        super().setup()
        self._deadline = threading.Timer(_TIMEOUT, self._cut_off)
        self._deadline.daemon = True
        self._deadline.start()

    def finish(self) -> None:
        """End with the connection."""
        self._deadline.cancel()
        super().finish()

    def _cut_off(self) -> None:
        # Nobody waits for it any more if this fails.
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Respond with the document of the path."""
        self._serve()

    def do_POST(self) -> None:
        """Inject a fault."""
        self._serve()

    def do_DELETE(self) -> None:
        """Remove faults."""
        self._serve()

    def _serve(self) -> None:
        if not self._names_this_host():
            message = "this address serves requests to an IP address or to localhost\n"
            self._respond(HTTPStatus.FORBIDDEN, "text/plain", message)
            return
        try:
            url = urlsplit(self.path)
            if url.path == "/faults" or url.path.startswith("/faults/"):
                self._serve_faults(url.path)
                return
            if self.command != "GET":
                self._respond(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", "expected GET\n")
                return
            route = self.routes.get(url.path)
            if route is None:
                paths = " ".join(sorted(self.routes))
                self._respond(HTTPStatus.NOT_FOUND, "text/plain", f"there are: {paths}\n")
                return
            kind, text = route(parse_qs(url.query, max_num_fields=10))
        except ValueError as error:
            self._respond(HTTPStatus.BAD_REQUEST, "text/plain", f"{error}\n")
        except ClosedError:
            self._respond(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", "the gateway ends\n")
        else:
            self._respond(HTTPStatus.OK, kind, text)

    def _serve_faults(self, path: str) -> None:
        length = self.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 6 or int(length) > _BODY_MAX:
            message = f"expected a body of at most {_BODY_MAX} bytes, with its length\n"
            self._respond(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "text/plain", message)
            return
        headers = self.headers.get("content-type"), self.headers.get("origin")
        body = self.rfile.read(int(length))
        status, kind, text = self.faults(self.command, path, *headers, body)
        self._respond(HTTPStatus(status), kind, text)

    def _names_this_host(self) -> bool:
        """Return whether no page of a browser can have sent the request under a name of its own.

        Its name may lead to loopback (DNS rebinding), which nobody else reaches.
        """
        if not _is_loopback(self.connection.getsockname()[0]):
            return True
        name = urlsplit(f"//{self.headers.get('host', '')}").hostname or ""
        if name == "localhost":
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _respond(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        # A page of another site must not read it.
        self.send_header("x-content-type-options", "nosniff")
        self.send_header("cache-control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing for each request."""
