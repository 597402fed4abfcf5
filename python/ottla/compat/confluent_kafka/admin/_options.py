"""The options that calls have in common, and checks of arguments with the peer's exceptions.

Invariant: an option of the wrong type is a TypeError, one out of range a ValueError, before
anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_MAX_SECONDS = 3600


def check_known(options: Mapping[str, Any], *known: str) -> None:
    """Check that there are no other options.

    Raises:
        TypeError: there is one.
    """
    for name in options:
        if name not in known:
            raise TypeError(f"{name!r} is an invalid keyword argument: expected {', '.join(known)}")


def seconds(options: Mapping[str, Any], name: str, default: float) -> float:
    """Return a time in seconds.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, or longer than an hour.
    """
    if name not in options:
        return default
    value = options[name]
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number of seconds, not {type(value).__name__}")
    found = float(value)
    if not 0 <= found <= _MAX_SECONDS:
        raise ValueError(f"{name} is {found:g}: expected 0 to {_MAX_SECONDS} seconds")
    return found


def flag(options: Mapping[str, Any], name: str) -> bool:
    """Return a bool; False if it is not given.

    Raises:
        TypeError: it is no bool.
    """
    value = options.get(name, False)
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def broker(options: Mapping[str, Any]) -> None:
    """Check the option ``broker``, the id of the broker to ask; all brokers know the same.

    Raises:
        TypeError: it is no int.
    """
    value = options.get("broker", 0)
    if not isinstance(value, int):
        raise TypeError(f"broker must be an int, not {type(value).__name__}")


def check_list(what: str, value: object) -> None:
    """Check that an argument is a list.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, list):
        raise TypeError(f"Expected {what} to be a list, got '{type(value).__name__}'")


def non_empty_list(what: str, value: object) -> list[Any]:
    """Return a list with elements.

    Raises:
        ValueError: it is none, or empty.
    """
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of {what} that is not empty")
    return value


def has_duplicates(items: Iterable[Any]) -> bool:
    """Return whether two are equal."""
    found = list(items)
    return len(set(found)) != len(found)
