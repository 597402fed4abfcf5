"""The parameters of a request's query, and the JSON that it sends, checked.

Invariants: a wrong parameter is a ``ConfigError`` that names it, before anything is done; all texts
can be encoded in UTF-8, which names and filters require.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ottla.console.responses import problem
from ottla.errors import ConfigError

# Longer texts are neither names nor filters.
_MAX_TEXT = 4_096
_MAX_NUMBER = 2**63 - 1
_MAX_BODY = 65_536


class Query:
    """The parameters of a request's query.

    Args:
        request: the request.
    """

    def __init__(self, request: Request) -> None:
        self._parameters = request.query_params

    def text(self, name: str, *, most: int = _MAX_TEXT) -> str:
        """Return a text, which is empty if the parameter is missing."""
        value = self._parameters.get(name, "")
        if len(value) > most:
            raise ConfigError(f"{name}: at most {most} characters, not {len(value)}")
        return value

    def required(self, name: str) -> str:
        """Return a text that must not be empty."""
        if not (value := self.text(name)):
            raise ConfigError(f"{name} is missing")
        return value

    def number(
        self, name: str, default: int, *, most: int = _MAX_NUMBER, limit: str | None = None
    ) -> int:
        """Return a number, 0 or more.

        Args:
            name: the parameter.
            default: the number if it is missing.
            most: the largest number.
            limit: the message for a larger number. Default: one that names the parameter.
        """
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdecimal()):
            raise ConfigError(f"{name}: expected a number, 0 or more, got {text[:40]!r}")
        if len(text) > 19 or int(text) > most:
            raise ConfigError(limit or f"{name}: at most {most:,}, not {text[:40]}")
        return int(text)

    def choice(self, name: str, *choices: str) -> str:
        """Return one of some texts. Default: the first, which may be empty."""
        text = self.text(name) or choices[0]
        if text not in choices:
            expected = ", ".join(filter(None, choices))
            raise ConfigError(f"{name}: expected {expected}, got {text[:40]!r}")
        return text


class Utf8Only:
    """The ASGI middleware that refuses addresses that are not UTF-8.

    Args:
        app: the application, which would otherwise get replaced characters.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        app = self._app
        if scope["type"] == "http":
            try:
                for part in (scope["raw_path"], scope["query_string"]):
                    unquote_to_bytes(part).decode()
            except UnicodeDecodeError:
                app = problem(400, "expected an address in UTF-8")
        await app(scope, receive, send)


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request sends, of a bounded size.

    Raises:
        ConfigError: the request contains no JSON object.
    """
    # A form on another site cannot send this content type.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise ConfigError("expected the content type application/json")
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BODY:
                raise ConfigError(f"expected at most {_MAX_BODY} bytes")
    except ClientDisconnect:
        raise ConfigError("the connection ended before the request did") from None
    try:
        value = json.loads(body)
        # Escapes, or the bytes that they stand for, may contain half of a surrogate pair.
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConfigError("expected JSON whose texts are UTF-8") from None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ConfigError("expected a JSON object")
    return value
