"""Keys and values for the handler; a processor reads bytes, so that what it writes is unchanged.

Invariant: what cannot be decoded is a ``SerializationError`` of its record; an error of a schema
registry is raised as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ottla._core import Record
from ottla.errors import ConfigError, KafkaError, SerializationError

if TYPE_CHECKING:
    from ottla._core.aliases import DeserializerLike

__all__ = ["decoder", "decoder_in_thread"]

_Decode = Callable[[Record[Any, Any]], Any]


def decoder(key: DeserializerLike[Any] | None, value: DeserializerLike[Any] | None) -> _Decode:
    """Return a function from a record of bytes to a record of objects.

    Raises:
        ConfigError: a deserializer is none. Each record would be a dead letter.
    """
    _check("key", key)
    _check("value", value)
    if key is None and value is None:
        return lambda record: record

    def decode(record: Record[Any, Any]) -> Record[Any, Any]:
        return Record(
            record.topic,
            record.partition,
            record.offset,
            timestamp=record.timestamp,
            timestamp_type=record.timestamp_type,
            key=_decoded("key", key, record, record.key),
            value=_decoded("value", value, record, record.value),
            headers=record.headers,
            leader_epoch=record.leader_epoch,
        )

    return decode


def decoder_in_thread(
    key: DeserializerLike[Any] | None, value: DeserializerLike[Any] | None
) -> _Decode:
    """Return such a function for asyncio: formats, which may ask a registry, run in a thread."""
    from ottla.schema import ColumnFormat

    decode = decoder(key, value)
    if not isinstance(key, ColumnFormat) and not isinstance(value, ColumnFormat):
        return decode
    return lambda record: asyncio.to_thread(decode, record)


def _check(kind: str, deserializer: object) -> None:
    # A format is no function, and its class makes formats of registries, not values of bytes.
    is_class = isinstance(deserializer, type) and hasattr(deserializer, "deserialize")
    if deserializer is not None and (
        is_class or not (callable(deserializer) or hasattr(deserializer, "deserialize"))
    ):
        given = f"the class {getattr(deserializer, '__name__', '')}"
        given = given if is_class else f"of type {type(deserializer).__name__}"
        raise ConfigError(
            f"{kind}_deserializer is {given}: expected a callable, or an object with "
            "deserialize(topic, data, headers); see ottla.deserializers"
        )


def _decoded(kind: str, deserializer: Any, record: Record[Any, Any], data: Any) -> Any:
    if deserializer is None or data is None:
        return data
    try:
        if hasattr(deserializer, "deserialize"):
            return deserializer.deserialize(record.topic, data, record.headers)
        return deserializer(data)
    except SerializationError as error:
        raise SerializationError(f"{kind}: {error}") from error
    except (KafkaError, MemoryError):
        # A MemoryError is of the machine: the next record would fail as well.
        raise
    except Exception as error:
        raise SerializationError(f"{kind}: {error}") from error
