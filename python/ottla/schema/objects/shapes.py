"""Shapes: what the values of a type look like.

Invariant: a shape depends on the type alone, so that its schema is always the same. Shapes are
trees: a record within itself is a ``RecursiveShape``.
"""

from __future__ import annotations

import datetime as dt
import enum
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ottla.schema.precision import Precision

# The default of a field that has none that a schema could state.
NO_DEFAULT: Any = object()

SCALARS = {
    bool: "boolean",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
    uuid.UUID: "UUID",
}


@dataclass(frozen=True)
class Scalar:
    """A value of one of the classes in ``SCALARS``."""

    cls: type


@dataclass(frozen=True)
class DecimalShape:
    """A decimal; its digits are unknown without a ``Precision``."""

    precision: Precision | None


@dataclass(frozen=True)
class EnumShape:
    """A member of an enumeration."""

    cls: type[enum.Enum]


@dataclass(frozen=True)
class LiteralShape:
    """One of some values of one class: str, int or bool."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class ListShape:
    """Values of one shape; ``make`` returns the collection of a list."""

    item: Shape
    make: Callable[[list[Any]], Any]
    cls: Any


@dataclass(frozen=True)
class MapShape:
    """Values by str."""

    value: Shape


@dataclass(frozen=True)
class UnionShape:
    """A value of one of the members, or None."""

    members: tuple[Shape, ...]
    is_nullable: bool


@dataclass(frozen=True)
class AnyShape:
    """Any value of JSON."""


class Recursion:
    """A record that contains itself, and the functions that convert it, which call themselves.

    Attributes:
        record: its shape, once all of it was read.
        functions: by what they were made with.
        levels: how deep the running conversion of each thread is; it is that of all records in
            one type.
    """

    def __init__(self, levels: threading.local) -> None:
        self.record: RecordShape | None = None
        self.functions: dict[Any, Callable[[Any], Any]] = {}
        self.levels = levels


@dataclass(frozen=True)
class RecursiveShape:
    """A record within itself."""

    recursion: Recursion

    @property
    def record(self) -> RecordShape:
        """The shape of the record."""
        assert self.recursion.record is not None, "read before its end"
        return self.recursion.record


@dataclass(frozen=True)
class FieldShape:
    """A field: its attribute, its name in records, and its name when an object is created."""

    name: str
    wire_name: str
    argument: str
    shape: Shape
    default: Any
    is_optional: bool
    doc: str | None


@dataclass(frozen=True)
class RecordShape:
    """An object with fields; ``make`` returns it from arguments, ``get`` a field of it."""

    name: str
    doc: str | None
    fields: tuple[FieldShape, ...]
    make: Callable[[dict[str, Any]], Any]
    get: Callable[[Any, str], Any]
    cls: type


Shape: TypeAlias = (
    Scalar
    | DecimalShape
    | EnumShape
    | LiteralShape
    | ListShape
    | MapShape
    | UnionShape
    | AnyShape
    | RecordShape
    | RecursiveShape
)


def contains_itself(record: RecordShape) -> bool:
    """Return whether a record is a part of itself."""

    def has(shape: Shape) -> bool:
        if isinstance(shape, RecursiveShape):
            return shape.record is record
        if isinstance(shape, ListShape):
            return has(shape.item)
        if isinstance(shape, MapShape):
            return has(shape.value)
        if isinstance(shape, UnionShape):
            return any(has(each) for each in shape.members)
        return isinstance(shape, RecordShape) and any(has(each.shape) for each in shape.fields)

    return has(record)
