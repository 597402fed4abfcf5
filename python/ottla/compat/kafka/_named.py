"""Enumerations whose members programs also pass by name or number."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Named"]


class Named(Enum):
    """A member, or its name in any case, or its value."""

    @classmethod
    def build_from(cls, val: Any) -> Self:
        """Return the member.

        Raises:
            ValueError: there is no such member.
        """
        if isinstance(val, cls):
            return val
        name = str(val).strip().upper().replace("-", "_")
        for member in cls:
            if member.value == val or member.name == name:
                return member
        raise ValueError(f"Unrecognized {cls.__name__}: {val}")

    @classmethod
    def value_for(cls, val: Any) -> Any:
        """Return the member's value."""
        return cls.build_from(val).value
