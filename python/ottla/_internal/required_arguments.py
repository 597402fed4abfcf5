"""Arguments that must be there, and be of their kind: functions, flags, the topics to read.

Invariant: an argument of another type is refused when it is passed, not when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ottla._core import is_bool
from ottla._internal.arguments import collection, names
from ottla.errors import ArgumentTypeError, ConfigError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def required(name: str, value: T | None, expected: str) -> T:
    """Return an argument that is not None.

    Raises:
        ArgumentTypeError: it is None.
    """
    if value is None:
        raise ArgumentTypeError(f"{name} is None: expected {expected}")
    return value


def instance(name: str, value: object, kinds: type | tuple[type, ...], example: str) -> None:
    """Check an argument that is an object of a class.

    Args:
        name: the argument's name.
        value: the argument.
        kinds: its class, or the classes that it may have.
        example: the expected form, for the message of the error.

    Raises:
        ArgumentTypeError: it is of another class.
    """
    if not isinstance(value, kinds):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name} is of type {kind}: expected {example}")


def instances(
    name: str, value: Iterable[T], kinds: type | tuple[type, ...], example: str
) -> list[T]:
    """Return the objects of a class that an argument lists.

    Args:
        name: the argument's name.
        value: the argument.
        kinds: the class of each, or the classes that they may have.
        example: the expected form of one, for the message of the error.

    Raises:
        ArgumentTypeError: it is None, a str, bytes, or not iterable; or an item is of another
            class.
    """
    found = collection(name, required(name, value, f"a list, such as [{example}]"), f"[{example}]")
    for index, item in enumerate(found):
        instance(f"{name}[{index}]", item, kinds, example)
    return found


def function(name: str, value: F) -> F:
    """Return an argument that can be called.

    Raises:
        ArgumentTypeError: it cannot.
    """
    if not callable(value):
        raise ArgumentTypeError(f"{name} is of type {type(value).__name__}: expected a function")
    return value


def flag(name: str, value: bool) -> bool:
    """Return an argument that is True or False, also of numpy.

    Raises:
        ArgumentTypeError: it is of another type: a text such as "false" would count as true.
    """
    if not is_bool(value):
        kind = type(value).__name__
        raise ArgumentTypeError(f"{name} is of type {kind}: expected True or False")
    return bool(value)


def octets(name: str, value: bytes) -> bytes:
    """Return an argument that is bytes, or a bytearray. Messages do not show it: it may be secret.

    Raises:
        ArgumentTypeError: it is of another type.
    """
    given: object = value
    if not isinstance(given, (bytes, bytearray)):
        raise ArgumentTypeError(f"{name} is of type {type(given).__name__}: expected bytes")
    return bytes(given)


def topics_to_read(value: str | Sequence[str]) -> list[str]:
    """Return the argument ``topics``: a topic, or several.

    Raises:
        ArgumentTypeError: it is None, or of another type.
        ConfigError: it is empty.
    """
    if isinstance(value, str):
        return [value]
    found = names("topics", required("topics", value, 'a topic or a list, such as ["orders"]'))
    if not found:
        raise ConfigError("topics is empty: name a topic to read")
    return found
