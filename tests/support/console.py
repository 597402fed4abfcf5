"""Requests to a console as a browser sends them, or as it never would."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.console import Console

TIMEOUT = 30.0


@dataclass(frozen=True)
class Response:
    """A response: its status, its headers in lower case, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def request(
    console: Console,
    path: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token: bool = True,
) -> Response:
    """Send a request, with the console's token as a bearer token unless it is to have none."""
    sent = {"Authorization": f"Bearer {console.token}"} if token else {}
    connection = _connection(console)
    try:
        connection.request(method, path, body=body, headers={**sent, **(headers or {})})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, found, response.read())
    finally:
        connection.close()


def _connection(console: Console) -> http.client.HTTPConnection:
    if console.url.startswith("http:"):
        return http.client.HTTPConnection("127.0.0.1", console.port, timeout=TIMEOUT)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection("127.0.0.1", console.port, timeout=TIMEOUT, context=context)


def post(console: Console, path: str, value: Any, **headers: str) -> Response:
    """Send JSON."""
    sent = {"Content-Type": "application/json", **headers}
    body = json.dumps(value).encode()
    return request(console, path, method="POST", body=body, headers=sent)


class Stream:
    """The console's stream of server-sent events; an iterator of kinds and values."""

    def __init__(self, console: Console, path: str = "/api/stream") -> None:
        self._connection = _connection(console)
        headers = {"Authorization": f"Bearer {console.token}"}
        self._connection.request("GET", path, headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> tuple[str, Any]:
        kind = ""
        while line := self._response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                return kind, json.loads(value)
        raise StopIteration

    def wait_for(self, kind: str) -> Any:
        """Return the next value of a kind."""
        return next(value for found, value in self if found == kind)

    def close(self) -> None:
        """Close the connection, as a page does that is closed."""
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
