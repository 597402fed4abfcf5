"""Serializers and deserializers as programs pass them: objects of three kinds, and functions.

Invariant: which interface an object has is found out once, from its signature, so that a TypeError
of its own is never taken for another interface.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ottla.compat.kafka.serializer import (
    Deserializer,
    DeserializeWrapper,
    Serializer,
    SerializeWrapper,
)

__all__ = ["Converter", "close_all", "converter_of", "deserializer", "serializer"]

Converter = Callable[[str, Any, Any], Any]


def serializer(name: str, configured: Any) -> Any:
    """Return a serializer object for the argument of this name, or None."""
    if configured is None or isinstance(configured, Serializer):
        return configured
    _warn(name, "Serializer")
    return configured if hasattr(configured, "serialize") else SerializeWrapper(configured)


def deserializer(name: str, configured: Any) -> Any:
    """Return a deserializer object for the argument of this name, or None."""
    if configured is None or isinstance(configured, Deserializer):
        return configured
    _warn(name, "Deserializer")
    return configured if hasattr(configured, "deserialize") else DeserializeWrapper(configured)


def _warn(name: str, interface: str) -> None:
    warnings.warn(
        f"{name} does not implement kafka.serializer.{interface}", DeprecationWarning, stacklevel=5
    )


def converter_of(method: Callable[..., Any]) -> Converter:
    """Return ``serialize`` or ``deserialize`` as a function of topic, headers and data."""
    try:
        inspect.signature(method).bind("topic", [], b"")
    except TypeError:
        # The older interface, without headers.
        return lambda topic, _headers, data: method(topic, data)
    except ValueError:
        pass
    return method


def close_all(converters: Iterable[Any]) -> None:
    """Call the ``close`` of those that have one."""
    for converter in converters:
        close = getattr(converter, "close", None)
        if close is not None:
            close()
