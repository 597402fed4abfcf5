"""Which responses are asked for again, and after which pause."""

from __future__ import annotations

import random

_RETRIABLE = frozenset({408, 429, 500, 502, 503, 504})


def is_success(status_code: int) -> bool:
    """Return whether a status means that the request was carried out."""
    return 200 <= status_code <= 299


def is_retriable(status_code: int) -> bool:
    """Return whether the same request may succeed later."""
    return status_code in _RETRIABLE


def full_jitter(base_delay_ms: int, max_delay_ms: int, retries_attempted: int) -> float:
    """Return a random pause in milliseconds: up to a bound that doubles with each attempt."""
    return random.random() * min(base_delay_ms * 2.0**retries_attempted, max_delay_ms)  # noqa: S311 - a pause
