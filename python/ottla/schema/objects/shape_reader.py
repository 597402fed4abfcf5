"""Reads the shape of a type from its annotations.

Invariant: a type that has no shape is a ``SchemaError`` that names the field.
"""

from __future__ import annotations

import collections.abc as abstract
import decimal
import enum
import threading
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar, Union

from ottla.errors import SchemaError
from ottla.schema.objects.records import read_record
from ottla.schema.objects.shapes import (
    SCALARS,
    AnyShape,
    DecimalShape,
    EnumShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    Recursion,
    RecursiveShape,
    Scalar,
    Shape,
    UnionShape,
)
from ottla.schema.precision import Precision

_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    abstract.Sequence: list,
    abstract.MutableSequence: list,
    abstract.Collection: list,
    abstract.Iterable: list,
    abstract.Set: set,
}
_MAPS = (dict, abstract.Mapping, abstract.MutableMapping)


# A generic class may contain itself with ever new arguments, and an alias of a type itself.
_MAX_DEPTH = 64
# Of a path in a message about that, in characters.
_MAX_PATH = 60


class ShapeReader:
    """Reads the shapes of a type and of the types in it."""

    def __init__(self) -> None:
        self._records: dict[Any, RecordShape | Recursion] = {}
        self._depth = 0
        self._levels = threading.local()

    def shape(self, hint: Any, path: str, metadata: tuple[Any, ...] = ()) -> Shape:
        """Return the shape of a type.

        Args:
            hint: the type, as in an annotation.
            path: where it is, for errors.
            metadata: what annotates it.

        Raises:
            SchemaError: it has no shape.
        """
        if self._depth == _MAX_DEPTH:
            raise SchemaError(
                f"{path[:_MAX_PATH]}…: more than {_MAX_DEPTH} types are nested, or an alias of a "
                "type contains itself: use a class with fields, or keep the inner part as JSON text"
            )
        self._depth += 1
        try:
            return self._shape(hint, path, metadata)
        finally:
            self._depth -= 1

    def _shape(self, hint: Any, path: str, metadata: tuple[Any, ...]) -> Shape:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return self.shape(arguments[0], path, (*metadata, *arguments[1:]))
        if getattr(origin, "_name", None) in ("Required", "ReadOnly"):
            return self.shape(arguments[0], path, metadata)
        if hasattr(hint, "__value__"):  # type Alias = …
            return self.shape(hint.__value__, path, metadata)
        if hasattr(hint, "__supertype__"):
            return self.shape(hint.__supertype__, path, metadata)
        if origin in (Union, types.UnionType):
            return self._union(arguments, path, metadata)
        if origin is Literal:
            return self._literal(arguments, path)
        if isinstance(hint, TypeVar):
            raise SchemaError(
                f"{path} is of the type variable {hint}: name the type, as in Page[int]"
            )
        if hint is Any or hint is object:
            return AnyShape()
        if hint in SCALARS:
            return Scalar(hint)
        if hint is decimal.Decimal:
            return DecimalShape(_precision(metadata))
        if (origin or hint) in _LISTS:
            return self._list(origin or hint, arguments, path)
        if (origin or hint) in _MAPS:
            return self._map(arguments, path)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            if not list(hint):
                raise SchemaError(f"{path} is of the enumeration {hint.__name__}, which is empty")
            return EnumShape(hint)
        return self._record(hint, path)

    def _union(self, arguments: tuple[Any, ...], path: str, metadata: tuple[Any, ...]) -> Shape:
        present = [each for each in arguments if each is not type(None)]
        is_nullable = len(present) < len(arguments)
        members = tuple(self.shape(each, path, metadata) for each in present)
        return UnionShape(members, is_nullable)

    def _literal(self, values: tuple[Any, ...], path: str) -> Shape:
        present = tuple(value for value in values if value is not None)
        classes = {type(value) for value in present}
        if len(classes) != 1 or classes & {bytes}:
            raise SchemaError(f"{path} is of values of several classes: use a union of types")
        if issubclass(type(present[0]), enum.Enum):
            raise SchemaError(f"{path} is of a literal of an enumeration: use the enumeration")
        literal = LiteralShape(present)
        return literal if len(present) == len(values) else UnionShape((literal,), is_nullable=True)

    def _list(self, cls: Any, arguments: tuple[Any, ...], path: str) -> Shape:
        if cls is tuple and (len(arguments) != 2 or arguments[1] is not ...):
            raise SchemaError(
                f"{path} is a tuple of a fixed length: use tuple[X, ...], or a class with fields"
            )
        if not arguments:
            raise SchemaError(f"{path} is a {cls.__name__} without a type: use {cls.__name__}[X]")
        return ListShape(self.shape(arguments[0], f"{path}[]"), _LISTS[cls], cls)

    def _map(self, arguments: tuple[Any, ...], path: str) -> Shape:
        if not arguments:
            raise SchemaError(f"{path} is a dict without types: use dict[str, X]")
        if arguments[0] is not str:
            raise SchemaError(f"{path} is a dict with keys of {arguments[0]}: expected str")
        return MapShape(self.shape(arguments[1], f"{path}[]"))

    def _record(self, hint: Any, path: str) -> Shape:
        if hint in self._records:
            known = self._records[hint]
            return RecursiveShape(known) if isinstance(known, Recursion) else known
        self._records[hint] = recursion = Recursion(self._levels)
        self._records[hint] = recursion.record = read_record(self.shape, hint, path)
        return recursion.record


def _precision(metadata: tuple[Any, ...]) -> Precision | None:
    """Return the digits of a decimal: ours, or those of pydantic."""
    digits = scale = None
    for each in metadata:
        if isinstance(each, Precision):
            return each
        for part in (each, *getattr(each, "metadata", ())):
            digits = getattr(part, "max_digits", None) or digits
            places = getattr(part, "decimal_places", None)
            scale = places if places is not None else scale
    return None if digits is None else Precision(digits, scale or 0)
