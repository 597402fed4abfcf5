"""The headers of records that failed: their names, and what is written to and read from them.

The names of ``ottla.schema.DeadLetters`` are a part of these. Invariants: a record's own headers
keep their order, their duplicates and their nulls; what an exception says is cleaned, bounded, and
without the usual forms of credentials before it leaves the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ottla._core import Record
from ottla._internal.text import clean

__all__ = ["PREFIX", "Failure", "Origin", "describe", "headers_of", "own_headers", "read_origin"]

PREFIX = "__ottla.errors."

Headers = Iterable[tuple[str, "bytes | None"]]

# The longest message of an exception in a header or a line of the log, in characters.
_MAX_MESSAGE = 1000
_CREDENTIALS = (
    (re.compile(r"://[^/\s]+@"), "://***@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+"), r"\1 ***"),
    (
        re.compile(
            r"(?i)((?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key"
            r"|credentials?)[\w.-]{0,30}[\"']?\s{0,5}[=:]\s{0,5})"
            r"(\"[^\"]*\"|'[^']*'|[^\s,;&)}\]]+)"
        ),
        r"\1***",
    ),
)


@dataclass(frozen=True)
class Origin:
    """Where a record that failed was first read, and how often it failed.

    Attributes:
        topic: the topic.
        partition: the partition.
        offset: the offset.
        timestamp: milliseconds since 1970; -1 for none.
        attempts: how often the record failed.
        group: the group whose handler failed; None if unknown.
        retry_at: when it is due again, in milliseconds since 1970; None if it is not.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int = -1
    attempts: int = 0
    group: str | None = None
    retry_at: int | None = None


@dataclass(frozen=True)
class Failure:
    """Why a record failed.

    Attributes:
        exception: the qualified name of the exception's class.
        message: what it says, cleaned and bounded.
    """

    exception: str
    message: str


def describe(error: BaseException, text: Callable[[BaseException], str] = str) -> Failure:
    """Return what may be written of an exception.

    Args:
        error: the exception.
        text: makes the message. Default: the exception's own. If it raises, the message says so.
    """
    kind = type(error)
    module = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    try:
        message = str(text(error))
    except Exception as failed:  # noqa: BLE001 - it must not stop the records behind
        message = f"no message, since making it raised {type(failed).__name__}"
    # A secret that the limit cuts in two must be seen whole.
    for pattern, shown in _CREDENTIALS:
        message = pattern.sub(shown, message[: 10 * _MAX_MESSAGE])
    message = clean(message.encode(errors="replace").decode())
    if len(message) > _MAX_MESSAGE:
        message = message[: _MAX_MESSAGE - 3] + "..."
    return Failure(f"{module}{kind.__qualname__}", message)


def own_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Return a record's headers without those that were added when it failed."""
    return [(name, value) for name, value in headers if not name.startswith(PREFIX)]


def headers_of(
    headers: Headers, origin: Origin, failure: Failure
) -> list[tuple[str, bytes | None]]:
    """Return a record's own headers, and those that say where it is from and why it failed."""
    added: Mapping[str, object] = {
        "message": failure.message,
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "timestamp": origin.timestamp,
        "attempts": origin.attempts,
        "exception": failure.exception,
        "group": origin.group,
        "retry.at": origin.retry_at,
    }
    pairs = [
        (PREFIX + name, str(value).encode()) for name, value in added.items() if value is not None
    ]
    return own_headers(headers) + pairs


def read_origin(record: Record[bytes | None, bytes | None]) -> Origin:
    """Return where a record of a retry topic is from; the record itself where a header is bad."""
    found = {
        name.removeprefix(PREFIX): value.decode(errors="replace")
        for name, value in record.headers
        if name.startswith(PREFIX) and value is not None
    }
    partition, offset = _number(found.get("partition")), _number(found.get("offset"))
    # Fewer than one would index the delays from their end.
    attempts = max(_number(found.get("attempts")) or 1, 1)
    group, retry_at = found.get("group"), _number(found.get("retry.at"))
    is_place = partition is not None and 0 <= partition < 1 << 31 and (offset or 0) >= 0
    if "topic" not in found or partition is None or offset is None or not is_place:
        place = record.topic, record.partition, record.offset, record.timestamp
        return Origin(*place, attempts, group, retry_at)
    timestamp = _number(found.get("timestamp"))
    place = found["topic"], partition, offset, record.timestamp if timestamp is None else timestamp
    return Origin(*place, attempts, group, retry_at)


def _number(text: str | None) -> int | None:
    # int() alone would accept more, such as underscores, and raise for very long texts.
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII) else None
