"""A dead letter: where its record is from and why it failed, as the headers of several tools say.

Invariants: a header that is malformed is as good as absent; nothing is guessed; texts are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ottla._internal.arguments import TOPIC_NAME

__all__ = ["REPLAY", "Letter", "read_letter"]

REPLAY = "__ottla.replay."
"""The prefix of the headers of a replayed record."""

# Brokers write these for share groups (KIP-1191), with or without the record.
_BROKERS = "__dlq.errors."
# The names of topic, partition, offset, timestamp, exception, message and group, by tool.
_TOOLS: tuple[tuple[str, Sequence[str]], ...] = (
    (
        "__ottla.errors.",
        ("topic", "partition", "offset", "timestamp", "exception", "message", "group"),
    ),
    (
        "__connect.errors.",
        (
            "topic",
            "partition",
            "offset",
            "",
            "exception.class.name",
            "exception.message",
            "connector.name",
        ),
    ),
    (_BROKERS, ("topic", "partition", "offset", "", "", "message", "group")),
    (
        "kafka_dlt-",
        (
            "original-topic",
            "original-partition",
            "original-offset",
            "original-timestamp",
            "exception-fqcn",
            "exception-message",
            "original-consumer-group",
        ),
    ),
)
_PREFIXES = (*(prefix for prefix, _ in _TOOLS), REPLAY)
# A header may have megabytes, and a listing keeps many.
_MAX_TEXT = 4096
# Spring also adds this one, and writes numbers as big-endian bytes.
_BINARY = "kafka_dlt-"

Headers = Sequence[tuple[str, "bytes | None"]]


@dataclass(frozen=True)
class Letter:
    """A dead letter.

    Attributes:
        topic: the topic of dead letters.
        partition: its partition there.
        offset: its offset there.
        timestamp: its timestamp there, in milliseconds since 1970; None if it has none.
        origin: the topic that the record was first read from; None if no header says it, or says
            the topic of dead letters itself.
        origin_partition: the partition there.
        origin_offset: the offset there.
        origin_timestamp: the record's timestamp there.
        exception: the class of the exception.
        message: its text.
        group: the group or the connector that failed.
        is_replay: whether the record was a replay already.
        is_reference: whether the letter names the record without having it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    origin: str | None
    origin_partition: int | None
    origin_offset: int | None
    origin_timestamp: int | None
    exception: str | None
    message: str | None
    group: str | None
    is_replay: bool
    is_reference: bool
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: Headers = field(repr=False)
    """The record's own headers."""

    @property
    def reason(self) -> str:
        """The exception's class, or else its text with numbers as ``#``."""
        return self.exception or re.sub(r"\d+", "#", self.message or "unknown")[:200]


def read_letter(row: Sequence[object]) -> Letter:
    """Return a dead letter from key, value, topic, partition, offset, timestamp and headers."""
    key, value, topic, partition, offset, timestamp, given = row
    headers: Headers = given or ()  # type: ignore[assignment]
    found = {name: data for name, data in headers if data is not None}
    texts: Mapping[str, str | None] = {}
    numbers: Mapping[str, int | None] = {}
    is_brokers = False
    for prefix, names in _TOOLS:
        if any(name.startswith(prefix) for name in found):
            fields = ("topic", "partition", "offset", "timestamp", "exception", "message", "group")
            data = {
                each: found.get(prefix + name) for each, name in zip(fields, names, strict=True)
            }
            texts = {name: _text(data[name]) for name in ("topic", "exception", "message", "group")}
            numbers = {
                name: _number(data[name], is_binary=prefix == _BINARY)
                for name in ("partition", "offset", "timestamp")
            }
            is_brokers = prefix == _BROKERS
            break
    return Letter(
        topic,  # type: ignore[arg-type]
        partition,  # type: ignore[arg-type]
        offset,  # type: ignore[arg-type]
        timestamp,  # type: ignore[arg-type]
        _origin(texts.get("topic"), topic),
        numbers.get("partition"),
        numbers.get("offset"),
        numbers.get("timestamp"),
        texts.get("exception"),
        texts.get("message"),
        texts.get("group"),
        any(name.startswith(REPLAY) for name in found),
        is_brokers and key is None and value is None,
        key,  # type: ignore[arg-type]
        value,  # type: ignore[arg-type]
        [(name, data) for name, data in headers if not name.startswith(_PREFIXES)],
    )


def _origin(name: str | None, letters: object) -> str | None:
    # Replayed to its own topic, a letter would be a letter again, without a reason.
    return name if name and TOPIC_NAME.fullmatch(name) and name != letters else None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data[:_MAX_TEXT].decode(errors="replace")


def _number(data: bytes | None, *, is_binary: bool) -> int | None:
    if data is None:
        return None
    if is_binary:
        number = int.from_bytes(data, "big", signed=True) if len(data) in {4, 8} else -1
    else:
        number = int(data) if re.fullmatch(rb"[0-9]{1,18}", data) else -1
    return number if number >= 0 else None
