"""JSON responses, and responses to requests that fail.

Invariants: an error of the cluster becomes a response with its message, and never a traceback; half
of a surrogate pair, which records may contain, becomes a JSON escape.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ottla import errors
from ottla.cli.messages import error_message
from ottla.errors import KafkaError

_log = logging.getLogger(__name__)

# The first matching class determines the status.
_STATUSES: tuple[tuple[type[KafkaError], int], ...] = (
    (errors.ConfigError, 400),
    (errors.AuthorizationError, 403),
    (errors.UnknownTopicError, 404),
    (errors.StateError, 409),
    (errors.ClosedError, 503),
    (errors.TimeoutError, 504),
    (KafkaError, 502),
)


class JSONResponse(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Only strings can contain characters that UTF-8 cannot encode.
        return text.encode(errors="backslashreplace")


def event_stream(events: AsyncIterator[str]) -> Response:
    """Return a response of server-sent events."""
    headers = {"cache-control": "no-store"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def problem(status: int, message: str) -> Response:
    """Return a response with an error message."""
    return JSONResponse({"message": message}, status_code=status)


async def on_kafka_error(_: Request, error: Exception) -> Response:
    """Respond with an error of ottla's: its message, its remedy, and whether it is in doubt."""
    status = next(status for kind, status in _STATUSES if isinstance(error, kind))
    assert isinstance(error, KafkaError), "this handler is registered for KafkaError"
    found = error_message(error)
    kept = {key: found[key] for key in ("name", "code", "message", "remedy", "maybe_done")}
    return JSONResponse(kept, status_code=status)


async def on_http_error(_: Request, error: Exception) -> Response:
    """Respond to a request for an unknown path, or with a wrong method."""
    assert isinstance(error, HTTPException), "this handler is registered for HTTPException"
    return problem(error.status_code, error.detail)


async def on_failure(request: Request, error: Exception) -> Response:
    """Log an unexpected error. The page only shows that one occurred."""
    _log.error("%s %s has failed", request.method, request.url.path, exc_info=error)
    return problem(500, "the console has failed: see its log for the cause")
