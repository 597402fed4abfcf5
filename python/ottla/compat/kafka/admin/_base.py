"""What all groups of admin calls use: ottla's admin, time limits, and errors of single items.

Invariant: the error of one item is returned where kafka-python returns it, and raised where it
raises; never dropped.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import ottla
from ottla.compat.kafka._errors import translated
from ottla.compat.kafka.errors import BrokerResponseError, for_code

__all__ = [
    "AdminBase",
    "error_class",
    "error_code",
    "error_message",
    "raise_first",
    "text_of",
    "uuid_of",
]


class AdminBase:
    """The attributes; ``KafkaAdminClient`` sets them."""

    config: dict[str, Any]
    _ottla: ottla.Client
    _admin: ottla.Admin

    def _seconds(self, timeout_ms: float | None = None) -> float:
        default = self.config["default_api_timeout_ms"]
        return (default if timeout_ms is None else timeout_ms) / 1000


def error_code(error: object) -> int:
    """Return the code of an item's error; 0 for anything else, -1 for an error without one."""
    if not isinstance(error, BaseException):
        return 0
    code = getattr(translated(error), "errno", None)
    return -1 if code is None else int(code)


def error_class(error: object) -> type[BrokerResponseError]:
    """Return the class of an item's error; ``NoError`` for anything else."""
    return for_code(error_code(error))


def error_message(error: object) -> str | None:
    """Return the message of an item's error; None for anything else."""
    return str(error) if isinstance(error, BaseException) else None


def raise_first(results: Mapping[Any, Any] | Iterable[Any]) -> None:
    """Raise the first error of some results."""
    for result in results.values() if isinstance(results, Mapping) else results:
        if isinstance(result, BaseException):
            raise translated(result) from result


def uuid_of(topic_id: str | None) -> uuid.UUID:
    """Return a topic's id; zero if it has none."""
    if topic_id is None:
        return uuid.UUID(int=0)
    return uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "=="))


def text_of(topic_id: uuid.UUID) -> str:
    """Return a topic's id as Kafka's tools and ottla write it."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
