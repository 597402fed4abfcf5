"""The messages of ``produce_batch``: dicts, checked all together before any is queued.

Invariant: an invalid message is refused with its index, and nothing of the batch is queued.
"""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka._headers import Headers, header_pairs
from ottla.compat.confluent_kafka._produced import Entry


def first_of(*callbacks: Any) -> Any:
    """Return the first callback that is given; a callable may be false."""
    return next((callback for callback in callbacks if callback is not None), None)


def _data(message: dict[str, Any], field: str, index: int) -> bytes | None:
    data = message.get(field)
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    raise TypeError(f"Message {field} at index {index} must be bytes or str")


def _headers(message: dict[str, Any], index: int) -> Headers | None:
    try:
        return header_pairs(message.get("headers"))
    except TypeError as error:
        raise ValueError(f"Invalid headers at index {index}: {error}") from error


def _entry(topic: str, message: Any, index: int, partition: int, callback: Any) -> Entry:
    if not isinstance(message, dict):
        raise TypeError(f"Message at index {index} must be a dict")
    value, key = _data(message, "value", index), _data(message, "key", index)
    chosen = message.get("partition")
    if chosen is None:
        chosen = partition
    if not isinstance(chosen, int):
        raise TypeError(f"Message partition at index {index} must be int")
    if message.get("timestamp") is not None:
        raise NotImplementedError("Message timestamps are not currently supported in batch mode")
    headers = _headers(message, index)
    callback = first_of(message.get("callback"), callback)
    return Entry(topic, value, key, None if chosen < 0 else chosen, headers, None, callback)


def entries_of(
    topic: str, messages: list[dict[str, Any]], partition: int, callback: Any
) -> list[Entry]:
    """Return the messages of a batch.

    Args:
        topic: the topic.
        messages: the dicts.
        partition: the partition of messages without one.
        callback: the callback of messages without one.

    Raises:
        TypeError: a message is no dict, or a field has the wrong type.
        ValueError: headers are invalid.
        NotImplementedError: a message has a timestamp, as in confluent-kafka.
    """
    return [
        _entry(topic, message, index, partition, callback) for index, message in enumerate(messages)
    ]
