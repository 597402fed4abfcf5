"""Enumerations of ``admin``: their base, and the conversion of names and numbers to members.

Invariant: a member's number is librdkafka's, and members are ordered by it.
"""

from __future__ import annotations

import enum
from typing import TypeVar

E = TypeVar("E", bound=enum.Enum)


class OrderedEnum(enum.Enum):
    """An enumeration whose members are ordered by their numbers."""

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return bool(self.value < other.value)


def member_of(kind: type[E], value: object) -> E:
    """Return the member for itself, its name in any case, or its number.

    Raises:
        ValueError: there is no member of this name or number.
        TypeError: the value is of another type.
    """
    if isinstance(value, str):
        try:
            return kind[value.upper()]
        except KeyError:
            message = f"{value!r} is no {kind.__name__}: expected one of {', '.join(names(kind))}"
            raise ValueError(message) from None
    if isinstance(value, int):
        return kind(value)
    if not isinstance(value, kind):
        raise TypeError(f"expected a {kind.__name__}, not {type(value).__name__}")
    return value


def known_member(kind: type[E], number: int) -> E:
    """Return the member for a number that a broker sent; the member 0 if there is none."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)


def names(kind: type[enum.Enum]) -> list[str]:
    """Return the names of all members."""
    return [member.name for member in kind]
