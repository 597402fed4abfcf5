"""What the page shows of a gateway's connections and events, checked.

Invariant: a row has the values that routes and the page expect, whatever a gateway has sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

T = TypeVar("T")


def row_of(connection: Any, url: str) -> dict[str, Any]:
    """Return the row of a connection.

    Raises:
        TypeError: a value is missing, or of another type.
    """
    errors: dict[str, int] = {}
    for codes in _field(connection, "errors", _by_name(_counts)).values():
        for code, count in codes.items():
            errors[code] = errors.get(code, 0) + count
    requests = _field(connection, "requests", _counts)
    return {
        "id": _field(connection, "id", _integer),
        "peer": _field(connection, "peer", _text),
        "broker": _field(connection, "broker", _optional(_integer)),
        "roles": _field(connection, "roles", _texts),
        "client_id": _field(connection, "client_id", _text),
        "software": _field(connection, "software", _optional(_text)),
        "user": _field(connection, "user", _optional(_text)),
        "in_flight": _field(connection, "in_flight", _integer),
        "gateway": url,
        "names": [
            *_field(connection, "groups", _texts),
            *_field(connection, "transactional_ids", _texts),
        ],
        "requests": sum(requests.values()),
        "by_api": requests,
        "throttled": _field(connection, "throttled", _number),
        "errors": dict(sorted(errors.items())),
    }


def event_of(event: Any, url: str) -> dict[str, Any]:
    """Return the row of an event.

    Raises:
        TypeError: a value is missing, or of another type.
    """
    return {
        "time": _field(event, "time", _time),
        "kind": _field(event, "kind", _text),
        "text": _field(event, "text", _text),
        "gateway": url,
    }


def _field(document: Any, name: str, check: Callable[[Any], T]) -> T:
    if not isinstance(document, dict):
        raise TypeError("expected objects")
    if name not in document:
        raise TypeError(f"there is no {name!r}")
    try:
        return check(document[name])
    except TypeError as error:
        raise TypeError(f"{name!r} is not {error}") from None
    except ValueError:
        raise TypeError(f"{name!r} is not a time") from None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError("a text")


def _integer(value: Any) -> int:
    # Of 64 bits: the page's numbers have no more.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        return value
    raise TypeError("an integer")


def _number(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise TypeError("a number")


def _time(value: Any) -> str:
    # Times without a zone cannot be compared with others.
    if datetime.fromisoformat(_text(value)).tzinfo is None:
        raise TypeError("a time with a zone")
    return str(value)


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [_text(each) for each in value]
    raise TypeError("a list of texts")


def _optional(check: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else check(value)


def _by_name(check: Callable[[Any], T]) -> Callable[[Any], dict[str, T]]:
    def checked(value: Any) -> dict[str, T]:
        if isinstance(value, dict):
            return {name: check(each) for name, each in value.items()}
        raise TypeError("an object")

    return checked


_counts = _by_name(_integer)
