"""A key or a value with the name of its type, as a format with ``convert=False`` decodes it."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TypedValue"]


class TypedValue(NamedTuple):
    """A key or a value that keeps the schema that it was written with.

    match record.value:
        case ("shop.Order", order):
            print(order["id"])
    """

    type: str | None
    """The full name in Avro, the name of the message in Protobuf, the title in JSON Schema; None if
    the schema has no name, such as a string of Avro."""

    value: Any
    """The value: a dict for a struct."""
