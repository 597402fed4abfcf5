"""The parameters of a request's query, checked.

Invariant: a wrong parameter is a ``ConfigError`` that names it, before anything is done.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import ClientDisconnect, Request

from ottla.errors import ConfigError

# Longer texts are no names and no filters.
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
        """Return a text; an empty one if it is missing."""
        value = self._parameters.get(name, "")
        if len(value) > most:
            raise ConfigError(f"{name}: at most {most} characters, not {len(value)}")
        return value

    def required(self, name: str) -> str:
        """Return a text that must not be empty."""
        if not (value := self.text(name)):
            raise ConfigError(f"{name} is missing")
        return value

    def number(self, name: str, default: int, *, most: int = _MAX_NUMBER) -> int:
        """Return a number, 0 or more."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) > most:
            raise ConfigError(f"{name}: expected a number from 0 to {most}, got {text[:40]!r}")
        return int(text)

    def choice(self, name: str, *choices: str) -> str:
        """Return one of some texts. Default: the first."""
        text = self.text(name) or choices[0]
        if text not in choices:
            raise ConfigError(f"{name}: expected {', '.join(choices)}, got {text[:40]!r}")
        return text


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request sends, of a bounded size.

    Raises:
        ConfigError: it sends none.
    """
    # A form of another site cannot send this type.
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
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ConfigError("expected a JSON object")
    return value
