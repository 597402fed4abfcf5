"""Conversion of the registry's JSON documents to the layer's classes, and back.

A class lists its fields with their keys in ``KEYS``. A field that is None has no key in the
document, since the registry takes a null for a value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Document):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def parsed(document: dict[str, Any], key: str, parse: Callable[[Any], T]) -> T | None:
    """Return the parsed value of a key, or None if there is none."""
    value = document.get(key)
    return None if value is None else parse(value)


def parsed_list(document: dict[str, Any], key: str, parse: Callable[[Any], T]) -> list[T]:
    """Return the parsed items of a key, an empty list if there is none."""
    return [parse(item) for item in document.get(key) or []]


def parsed_object(document: dict[str, Any], key: str, parse: Callable[[Any], T]) -> T | None:
    """Return the parsed object of a key; anything else is a TypeError."""
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError(f"{key} must be an object, not {type(value).__name__}")
    return parse(value)


def hashable(value: Any) -> Hashable:
    """Return a value that stands for a document in a hash."""
    if isinstance(value, dict):
        return frozenset((key, hashable(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(hashable(item) for item in value)
    return value  # type: ignore[no-any-return]


class Document:
    """A class whose fields are the keys of a JSON object."""

    KEYS: ClassVar[dict[str, str]] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        document: dict[str, Any] = {}
        for name, key in self.KEYS.items():
            value = getattr(self, name)
            if value is not None:
                document[key] = plain(value)
        return document
