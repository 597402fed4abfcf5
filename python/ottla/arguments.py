"""Arguments that are collections: topics, groups, partitions.

Invariant: a single str or bytes is never taken for a collection. Its letters would be names, and
``delete_topics("abc")`` would delete the topics a, b and c.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from ottla.errors import ArgumentTypeError

T = TypeVar("T")


@overload
def collection(name: str, value: Iterable[T], example: str = "") -> list[T]: ...
@overload
def collection(name: str, value: Iterable[T] | None, example: str = "") -> list[T] | None: ...
def collection(name: str, value: Iterable[T] | None, example: str = "") -> list[T] | None:
    """Return the items of an argument.

    Args:
        name: the argument's name.
        value: the argument; None is returned unchanged.
        example: the expected form, for the message of the error. Default: none.

    Raises:
        ArgumentTypeError: it is a str, bytes, or not iterable.
    """
    if value is None:
        return None
    such_as = f", such as {example}" if example else ""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        message = f"{name} is the {type(value).__name__} {_shown(value)}: expected a list{such_as}"
        raise ArgumentTypeError(message)
    try:
        return list(value)
    except TypeError:
        if hasattr(value, "__iter__"):
            raise
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name} is of type {kind}: expected a list{such_as}") from None


@overload
def names(name: str, value: Iterable[str]) -> list[str]: ...
@overload
def names(name: str, value: Iterable[str] | None) -> list[str] | None: ...
def names(name: str, value: Iterable[str] | None) -> list[str] | None:
    """Return the names, or ids, that an argument lists.

    Args:
        name: the argument's name.
        value: the argument; None is returned unchanged.

    Raises:
        ArgumentTypeError: it is a str, bytes, or not iterable; or an item is not a str.
    """
    found = collection(name, value, f"[{_quoted(value)}]")
    items: Iterable[object] = found or ()
    for index, item in enumerate(items):
        if not isinstance(item, str):
            kind = type(item).__name__
            raise ArgumentTypeError(f"{name}[{index}] is of type {kind}: expected a str")
    return found


@overload
def partitions(name: str, value: Iterable[T]) -> list[T]: ...
@overload
def partitions(name: str, value: Iterable[T] | None) -> list[T] | None: ...
def partitions(name: str, value: Iterable[T] | None) -> list[T] | None:
    """Return the partitions that an argument lists.

    Args:
        name: the argument's name.
        value: the argument; None is returned unchanged.

    Raises:
        ArgumentTypeError: it is a str, bytes, or not iterable; or an item is not a pair of a topic
            and a number.
    """
    found = collection(name, value, f"[({_quoted(value)}, 0)]")
    for index, item in enumerate(found or ()):
        if not is_partition(item):
            message = f"{name}[{index}] is {_shown(item)}: expected (topic, partition)"
            raise ArgumentTypeError(message)
    return found


@overload
def topics_or_partitions(name: str, value: Iterable[T]) -> list[T]: ...
@overload
def topics_or_partitions(name: str, value: Iterable[T] | None) -> list[T] | None: ...
def topics_or_partitions(name: str, value: Iterable[T] | None) -> list[T] | None:
    """Return the topics, and the partitions of others, that an argument lists.

    Args:
        name: the argument's name.
        value: the argument; None is returned unchanged.

    Raises:
        ArgumentTypeError: it is a str, bytes, or not iterable; or an item is neither a topic nor a
            pair of a topic and a number.
    """
    found = collection(name, value, f"[{_quoted(value)}]")
    for index, item in enumerate(found or ()):
        if not isinstance(item, str) and not is_partition(item):
            message = f"{name}[{index}] is {_shown(item)}: expected a topic or (topic, partition)"
            raise ArgumentTypeError(message)
    return found


def is_partition(item: Any) -> bool:
    """Return whether an item is a pair of a topic and a number."""
    return (
        isinstance(item, (tuple, list))
        and len(item) == 2
        and isinstance(item[0], str)
        and not isinstance(item[1], (str, bytes))
    )


def _quoted(value: object) -> str:
    """Return the name in an example, as it would stand in a list."""
    text = value.decode(errors="replace") if isinstance(value, (bytes, bytearray)) else value
    return json.dumps(_cut(text), ensure_ascii=False) if isinstance(text, str) else '"abc"'


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."
