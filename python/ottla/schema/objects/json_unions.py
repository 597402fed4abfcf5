"""Unions in JSON, whose values do not name their type.

Invariant: what ``dump`` returns, ``load`` reads as the same member; a value that another member
would read is refused when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ottla.schema.objects.field_error import FieldError, expected, shortened
from ottla.schema.objects.shapes import RecordShape, RecursiveShape, Scalar, Shape, UnionShape
from ottla.schema.objects.union_members import class_of, member_of

Function: TypeAlias = Callable[[Any], Any]

# Of one member in a message, in characters.
_MAX_REASON = 200
_NO_TYPE = "no type of the union: "


def union_loader(shape: UnionShape, loaders: Sequence[Function]) -> Function:
    """Return the function that makes an object of a value of JSON.

    Args:
        shape: the union.
        loaders: those of its members.
    """

    def load(value: Any) -> Any:
        if value is None and shape.is_nullable:
            return None
        failures = []
        for at in _order(shape, value):
            try:
                return loaders[at](value)
            except FieldError as error:
                failures.append(error)
        furthest = max(failures, key=lambda each: each.depth)
        # Of a type that contains itself, each level would repeat those below.
        if len(failures) == 1 or furthest.reason.startswith(_NO_TYPE):
            raise furthest
        reasons = "; or ".join(shortened(str(each), _MAX_REASON) for each in failures)
        raise FieldError(_NO_TYPE + reasons)

    return load


def union_dumper(
    shape: UnionShape, dumpers: Sequence[Function], loaders: Sequence[Function]
) -> Function:
    """Return the function that makes the value of JSON of an object.

    Args:
        shape: the union.
        dumpers: those of its members.
        loaders: those of its members, of which none but the right one may read the value.
    """

    def dump(value: Any) -> Any:
        if value is None and shape.is_nullable:
            return None
        if len(dumpers) == 1:
            return dumpers[0](value)
        at = member_of(shape, value)
        if at is None:
            raise expected("a type of the union", value)
        dumped = dumpers[at](value)
        for other in _order(shape, dumped):
            if other == at:
                return dumped
            try:
                loaders[other](dumped)
            except FieldError:
                continue
            raise FieldError(
                f"it would be read as {_name(shape.members[other])}, another type of the union: "
                "give the classes a Literal field that differs, or use one type for texts"
            )
        raise AssertionError(shape)

    return dump


def _order(union: UnionShape, value: Any) -> Sequence[int]:
    """Return the members in the order in which to try to read a value of JSON as them.

    Classes whose fields are those of the value are the first, since unknown fields are skipped.
    """
    members = union.members
    if type(value) is dict:
        keys = value.keys()

        def difference(at: int) -> int:
            shape = members[at]
            if isinstance(shape, RecursiveShape):
                shape = shape.record
            if not isinstance(shape, RecordShape):
                return 0
            return len({each.wire_name for each in shape.fields} ^ keys)

        return sorted(range(len(members)), key=difference)

    def is_other(at: int) -> bool:
        shape = members[at]
        return not (isinstance(shape, Scalar) and shape.cls is type(value) is int)

    return sorted(range(len(members)), key=is_other)


def _name(shape: Shape) -> str:
    shape = shape.record if isinstance(shape, RecursiveShape) else shape
    cls = class_of(shape)
    return "another one" if cls is None else getattr(shape, "name", cls.__name__)
