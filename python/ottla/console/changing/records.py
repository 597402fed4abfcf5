"""Writes one record to a topic.

Invariants: a confirmed plan writes at most one record, however often it is sent; an outcome that is
unknown is reported as unknown, neither as a success nor as a failure.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from ottla import Delivery, Producer, errors
from ottla._internal.text import counted
from ottla.admin import PlannedChange
from ottla.console.changing.change import Change, Maker, Planned, count, pairs, text
from ottla.console.group_survey import TIMEOUT
from ottla.console.source import Source
from ottla.errors import ConfigError, KafkaError

_FORMATS = ("text", "json", "null")
# Seconds for the record, which is given up then, and for what is left at the end.
_DELIVERY_TIMEOUT = 15.0
_CLOSE_TIMEOUT = 1.0


def _produce(source: Source, body: dict[str, Any]) -> Change:
    topic, partition = text(body, "topic"), count(body, "partition", least=0)
    key, value = _part(body, "key"), _part(body, "value")
    headers = pairs(body, "headers")
    # Two records may be equal: the page's own id of the plan tells them apart.
    plan_id = text(body, "id")

    def plan() -> Planned:
        found = source.admin.describe_topics([topic], timeout=TIMEOUT)[topic]
        indexes = [each.partition for each in found.partitions]
        if partition is not None and partition not in indexes:
            raise ConfigError(
                f"partition {partition}: topic {topic} has {counted(len(indexes), 'partition')}, "
                f"give a number from 0 to {len(indexes) - 1}"
            )
        place = "the partitioner chooses the partition"
        parts = [
            place if partition is None else f"partition {partition}",
            f"key: {_size(key)}",
            f"value: {_size(value)}",
            counted(len(headers), "header"),
        ]
        change = PlannedChange("write", f"a record to topic {topic}", ", ".join(parts))
        return Planned([change], found.topic_id)

    def apply() -> dict[str, object]:
        # The application's own producer may be in a transaction, or have serializers.
        producer = Producer(source.blocking)
        try:
            sent = producer.send(
                topic,
                value,
                key,
                headers=[(name, each.encode()) for name, each in headers],
                partition=partition,
            )
            error = _failure(producer, sent)
        finally:
            with suppress(KafkaError):  # the record's own error is the one that counts
                producer.close(timeout=_CLOSE_TIMEOUT)
        if error is not None and error.maybe_done:
            return {"is_known": False, "reason": str(error)}
        if error is not None:
            raise error
        written = sent.result()
        return {
            "is_known": True,
            "topic": written.topic,
            "partition": written.partition,
            "offset": written.offset,
        }

    request = [topic, partition, _shown(key), _shown(value), headers, plan_id]
    return Change(request, plan, apply, is_once=True)


def _failure(producer: Producer, sent: Delivery) -> KafkaError | None:
    """Wait for a record, and return its error; a record that takes too long is given up."""
    try:
        return sent.exception(timeout=_DELIVERY_TIMEOUT)
    except errors.TimeoutError:
        # Its error says whether it may have been written.
        producer.purge(in_flight=True)
        return sent.exception(timeout=_CLOSE_TIMEOUT)


def _part(body: dict[str, Any], name: str) -> bytes | None:
    """Return a key or a value: a text as it is, the text of valid JSON, or null."""
    part = body.get(name, "")
    form = text(body, f"{name}_as", "text")
    if form not in _FORMATS:
        raise ConfigError(f"{name}_as: expected {', '.join(_FORMATS)}, got {form[:40]!r}")
    if not isinstance(part, str):
        raise ConfigError(f"{name}: expected a text")
    if form == "null":
        if part:
            raise ConfigError(f"{name}: a part that is null has no text: leave the text empty")
        return None
    if form == "json":
        try:
            json.loads(part)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{name}: expected JSON: {error}") from None
    return part.encode()


def _shown(part: bytes | None) -> str | None:
    return None if part is None else part.decode()


def _size(part: bytes | None) -> str:
    return "null" if part is None else counted(len(part), "byte")


CHANGES: dict[str, Maker] = {"records/produce": _produce}
"""The changes of records."""
