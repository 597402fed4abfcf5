"""Arguments that are collections, mappings or numbers: topics, partitions, offsets.

Invariants: a single str or bytes is never taken for a collection. Its letters would be names, and
``delete_topics("abc")`` would delete the topics a, b and c. A bool is never taken for a number: it
is mostly the value of another argument. What counts as one or the other, ``convert/`` in
rust/python decides, for all calls.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, SupportsIndex, TypeVar

from ottla._core import is_bool, is_index, is_text
from ottla._internal.text import is_encodable
from ottla.errors import ArgumentTypeError, ConfigError

TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
"""The names of topics that Kafka allows."""

K = TypeVar("K")
T = TypeVar("T")


def collection(name: str, value: Iterable[T], example: str = "") -> list[T]:
    """Return the items of an argument.

    Args:
        name: the argument's name.
        value: the argument.
        example: the expected form, for the message of the error. Default: none.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable.
    """
    such_as = f", such as {example}" if example else ""
    given: object = value
    if given is None:
        raise ArgumentTypeError(f"{name} is None: expected a list{such_as}")
    if is_text(value):
        message = f"{name} is the {type(value).__name__} {_shown(value)}: expected a list{such_as}"
        raise ArgumentTypeError(message)
    try:
        return list(value)
    except TypeError:
        if hasattr(value, "__iter__"):
            raise
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name} is of type {kind}: expected a list{such_as}") from None


def names(name: str, value: Iterable[str]) -> list[str]:
    """Return the names, or ids, that an argument lists.

    Args:
        name: the argument's name.
        value: the argument.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is not a str.
        ConfigError: an item has half of a surrogate pair.
    """
    found = words(name, value)
    for index, item in enumerate(found):
        _check_encodable(f"{name}[{index}]", item)
    return found


def words(name: str, value: Iterable[str]) -> list[str]:
    """Return the texts that an argument lists, as ``names``, but also what UTF-8 cannot encode.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is not a str.
    """
    found = collection(name, value, f"[{_quoted(value)}]")
    items: Iterable[object] = found
    for index, item in enumerate(items):
        if not isinstance(item, str):
            kind = type(item).__name__
            raise ArgumentTypeError(f"{name}[{index}] is of type {kind}: expected a str")
    return found


def partitions(name: str, value: Iterable[T]) -> list[T]:
    """Return the partitions that an argument lists.

    Args:
        name: the argument's name.
        value: the argument.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is not a pair of a
            topic and a number.
    """
    found = collection(name, value, f"[({_quoted(value)}, 0)]")
    for index, item in enumerate(found):
        if not is_partition(item):
            message = f"{name}[{index}] is {_shown(item)}: expected (topic, partition)"
            raise ArgumentTypeError(message)
    return found


def topics_or_partitions(name: str, value: Iterable[T]) -> list[T]:
    """Return the topics, and the partitions of others, that an argument lists.

    Args:
        name: the argument's name.
        value: the argument.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is neither a topic
            nor a pair of a topic and a number.
    """
    found = collection(name, value, f"[{_quoted(value)}]")
    for index, item in enumerate(found):
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
        and is_index(item[1])
    )


def mapping(name: str, value: Mapping[K, T], example: str) -> dict[K, T]:
    """Return the items of an argument that is a mapping.

    Args:
        name: the argument's name.
        value: the argument.
        example: the expected form, for the message of the error.

    Raises:
        ArgumentTypeError: it is no mapping.
    """
    given: object = value
    if isinstance(given, Mapping):
        return dict(given)
    # It is not shown: a text in place of a configuration may have a password.
    kind = type(value).__name__
    raise ArgumentTypeError(f"{name} is of type {kind}: expected a mapping, such as {example}")


def text(name: str, value: str) -> str:
    """Return an argument that is a str, such as a topic.

    Raises:
        ArgumentTypeError: it is no str.
        ConfigError: it has half of a surrogate pair.
    """
    given: object = value
    if isinstance(given, str):
        _check_encodable(name, given)
        return given
    raise ArgumentTypeError(f"{name} is {_described(value)}: expected a str")


def _check_encodable(name: str, value: str) -> None:
    """Refuse a text that no message has room for as it is.

    Raises:
        ConfigError: it has half of a surrogate pair.
    """
    if not is_encodable(value):
        raise ConfigError(
            f"{name} is {_cut(ascii(value))}: it has half of a surrogate pair, which UTF-8 cannot "
            "encode"
        )


def topic_name(name: str, value: str) -> str:
    """Return a text that is a valid name of a topic; whether the topic exists is not asked.

    Raises:
        ConfigError: it is not.
    """
    if TOPIC_NAME.fullmatch(value) is None:
        raise ConfigError(
            f"{name}: {_shown(value)} is not a name of a topic: 1 to 249 letters, digits, dots, "
            "underscores and hyphens"
        )
    return value


def integer(name: str, value: SupportsIndex, expected: str = "an int, such as 1") -> int:
    """Return an argument that is an integer, also one of numpy.

    Args:
        name: the argument's name.
        value: the argument.
        expected: its description, for the message of the error.

    Raises:
        ArgumentTypeError: it is a bool, or no integer.
    """
    if is_index(value):
        # A class of integers, and an array of several, have the method, but are no integers.
        with suppress(TypeError):
            return operator.index(value)
    raise ArgumentTypeError(f"{name} is {_described(value)}: expected {expected}")


def number(name: str, value: float, expected: str = "a number, such as 1.5") -> float:
    """Return an argument that is a number, as ``integer``.

    Raises:
        ArgumentTypeError: it is a bool, a text, or no number.
    """
    if is_index(value) or (hasattr(value, "__float__") and not is_bool(value)):
        return float(value)
    raise ArgumentTypeError(f"{name} is {_described(value)}: expected {expected}")


def integers(name: str, value: Iterable[SupportsIndex]) -> list[int]:
    """Return the integers that an argument lists, such as the ids of brokers.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is no integer.
    """
    found = collection(name, value, "[1, 2]")
    return [integer(f"{name}[{index}]", item) for index, item in enumerate(found)]


def keyed(name: str, value: Mapping[str, T], example: str) -> dict[str, T]:
    """Return the items of a mapping whose keys are texts, such as a configuration.

    Raises:
        ArgumentTypeError: it is no mapping, or a key is no str.
    """
    found = mapping(name, value, example)
    keys: Iterable[object] = found
    for key in keys:
        if not isinstance(key, str):
            # Of other types, the text may be a secret.
            number = f" {_shown(key)}" if is_index(key) else ""
            message = f"{name} has the key{number} of type {type(key).__name__}: expected a str"
            raise ArgumentTypeError(f"{message}, as in {example}")
    return found


def counts(name: str, value: Mapping[str, SupportsIndex], example: str) -> dict[str, int]:
    """Return integers by name.

    Raises:
        ArgumentTypeError: it is no mapping, a name is no str, or a value is no integer.
    """
    found = keyed(name, value, example)
    return {key: integer(f"{name}[{key!r}]", number) for key, number in found.items()}


def texts(name: str, value: Mapping[str, str], example: str) -> dict[str, str]:
    """Return texts by name.

    Raises:
        ArgumentTypeError: it is no mapping, or a name or a value is no str.
    """
    found: dict[str, Any] = keyed(name, value, example)
    for key, item in found.items():
        if not isinstance(item, str):
            shown = f'such as "{_cut(key)}": "1"'
            raise ArgumentTypeError(f"{name}[{key}] is {_shown(item)}: expected a str, {shown}")
    return found


def by_partition(name: str, value: Mapping[K, T], example: str) -> dict[K, T]:
    """Return the items of a mapping whose keys are partitions.

    Raises:
        ArgumentTypeError: it is no mapping, or a key is no pair of a topic and a number.
    """
    found = mapping(name, value, f'{{("topic", 0): {example}}}')
    partitions(name, found)
    return found


def offsets(name: str, value: Mapping[K, SupportsIndex]) -> dict[K, int]:
    """Return offsets by partition.

    Raises:
        ArgumentTypeError: it is no mapping, a key is no partition, or an offset is no integer.
    """
    found = by_partition(name, value, "42")
    return {
        topic_partition: integer(f"{name}[{topic_partition!r}]", offset, "an offset, such as 42")
        for topic_partition, offset in found.items()
    }


def _described(value: object) -> str:
    return f"the {type(value).__name__} {_shown(value)}"


def _quoted(value: object) -> str:
    """Return the name in an example, as it would stand in a list."""
    text = value.decode(errors="replace") if isinstance(value, (bytes, bytearray)) else value
    return json.dumps(_cut(text), ensure_ascii=False) if isinstance(text, str) else '"abc"'


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


def is_version(text: str) -> bool:
    """Return whether a text is the version of a subject of a schema registry, from 1 on."""
    # Python does not parse integers of thousands of digits.
    return text.isdecimal() and len(text) <= 10 and 0 < int(text) < 2**31
