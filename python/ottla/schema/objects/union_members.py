"""Which member of a union an object is of.

Invariant: a value whose class is a member's own wins over one of a subclass, so that True is a bool
before it is an int.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ottla.schema.objects.shapes import (
    DecimalShape,
    EnumShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    RecursiveShape,
    Scalar,
    Shape,
    UnionShape,
)


def class_of(shape: Shape) -> type | None:
    """Return the class of a shape's values, if they have one of their own."""
    if isinstance(shape, RecursiveShape):
        return class_of(shape.record)
    if isinstance(shape, (Scalar, EnumShape, RecordShape)):
        return dict if hasattr(shape.cls, "__required_keys__") else shape.cls
    return decimal.Decimal if isinstance(shape, DecimalShape) else None


def member_of(union: UnionShape, value: Any) -> int | None:
    """Return the index of the member that a value is of, or None."""
    for at, shape in enumerate(union.members):
        if class_of(shape) is type(value) and _is_of(shape, value):
            return at
    for at, shape in enumerate(union.members):
        if _is_of(shape, value):
            return at
    return None


def _is_of(shape: Shape, value: Any) -> bool:
    if isinstance(shape, RecursiveShape):
        return _is_of(shape.record, value)
    if isinstance(shape, LiteralShape):
        return value in shape.values and type(value) is type(shape.values[0])
    if isinstance(shape, ListShape):
        is_text = isinstance(value, (str, bytes, bytearray))
        return isinstance(value, (Sequence, AbstractSet)) and not is_text
    if isinstance(shape, MapShape):
        return isinstance(value, Mapping)
    if isinstance(shape, RecordShape) and hasattr(shape.cls, "__required_keys__"):
        return isinstance(value, dict) and {each.name for each in shape.fields} == value.keys()
    if isinstance(shape, UnionShape):
        return member_of(shape, value) is not None
    cls = class_of(shape)
    if cls is None:
        return True
    if cls is float:
        return isinstance(value, (float, int)) and not isinstance(value, bool)
    if cls is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, cls)
