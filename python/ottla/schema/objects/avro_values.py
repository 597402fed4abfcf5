"""The conversion between objects and the plain values that the core decodes Avro to.

Functions are made once for a type, and called for each record. Invariant: a value of another type
than the field's is a ``FieldError`` with the path.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.schema.objects.avro_schema import ordered
from ottla.schema.objects.field_error import expected
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
from ottla.schema.objects.union_members import class_of, member_of
from ottla.schema.objects.value_functions import (
    FieldFunction,
    aware,
    decimal_dumper,
    dump_float,
    dump_int,
    list_function,
    literal_function,
    map_function,
    record_dumper,
    record_loader,
    recursive_function,
    scalar_function,
)

Function: TypeAlias = Callable[[Any], Any]


def _load_uuid(value: Any) -> Any:
    if not isinstance(value, str):
        raise expected("a UUID", value)
    try:
        return uuid.UUID(value)
    except ValueError:
        raise expected("a UUID", value) from None


def _load_float(value: Any) -> Any:
    # Fields and items that are floats do not get here, but values of unions and whole values do.
    if type(value) not in (float, int):
        raise expected("float", value)
    return float(value)


def loader(shape: Shape) -> Function:
    """Return the function that makes an object of a decoded value."""
    if isinstance(shape, Scalar):
        special = {uuid.UUID: _load_uuid, float: _load_float}.get(shape.cls)
        return special or scalar_function(shape.cls)
    if isinstance(shape, EnumShape):
        return _enum_loader(shape)
    if isinstance(shape, LiteralShape):
        return literal_function(shape)
    if isinstance(shape, ListShape):
        return list_function(_field(shape.item, loader), shape.make, list)
    if isinstance(shape, MapShape):
        return map_function(_field(shape.value, loader))
    if isinstance(shape, UnionShape):
        return _union_loader(shape)
    if isinstance(shape, RecordShape):
        fields = [
            (each, _field(ordered(each.shape, each.default)[0], loader)) for each in shape.fields
        ]
        return record_loader(shape, fields)
    if isinstance(shape, RecursiveShape):
        return recursive_function(shape, loader)
    return scalar_function(class_of(shape) or object)


def dumper(shape: Shape) -> Function:
    """Return the function that makes the value to encode of an object."""
    if isinstance(shape, Scalar):
        special = {
            uuid.UUID: _dump_uuid,
            float: dump_float,
            int: dump_int,
            dt.datetime: aware,
        }.get(shape.cls)
        return special or scalar_function(shape.cls)
    if isinstance(shape, DecimalShape):
        return decimal_dumper(shape)
    if isinstance(shape, EnumShape):
        return _enum_dumper(shape)
    if isinstance(shape, LiteralShape):
        return literal_function(shape)
    if isinstance(shape, ListShape):
        return list_function(_field(shape.item, dumper), list, shape.cls)
    if isinstance(shape, MapShape):
        return map_function(_field(shape.value, dumper))
    if isinstance(shape, UnionShape):
        return _union_dumper(shape)
    if isinstance(shape, RecordShape):
        fields = [
            (each, _field(ordered(each.shape, each.default)[0], dumper)) for each in shape.fields
        ]
        return record_dumper(shape, fields)
    if isinstance(shape, RecursiveShape):
        return recursive_function(shape, dumper)
    raise AssertionError(shape)


def _field(shape: Shape, of: Callable[[Shape], Function]) -> FieldFunction:
    """Return the class of the values that need no conversion, and the function for the others."""
    inner = shape
    if isinstance(inner, UnionShape) and len(inner.members) == 1:
        inner = inner.members[0]
    converted = (uuid.UUID, float, int, dt.datetime) if of is dumper else (uuid.UUID,)
    is_plain = isinstance(inner, Scalar) and inner.cls not in converted
    return (inner.cls if is_plain and isinstance(inner, Scalar) else None), of(shape)


def _dump_uuid(value: Any) -> Any:
    if not isinstance(value, uuid.UUID):
        raise expected("UUID", value)
    return str(value)


def _enum_loader(shape: EnumShape) -> Function:
    by_name = {each.name: each for each in shape.cls}

    def load(value: Any) -> Any:
        try:
            return by_name[value]
        except (KeyError, TypeError):
            names = ", ".join(by_name)
            raise expected(f"one of {names} ({shape.cls.__name__})", value) from None

    return load


def _enum_dumper(shape: EnumShape) -> Function:
    def dump(value: Any) -> Any:
        if not isinstance(value, shape.cls):
            raise expected(shape.cls.__name__, value)
        return value.name

    return dump


def _union_loader(shape: UnionShape) -> Function:
    loaders = [loader(each) for each in shape.members]
    if len(loaders) == 1:
        only = loaders[0]
        return lambda value: None if value is None and shape.is_nullable else only(value)

    def load(value: Any) -> Any:
        if value is None and shape.is_nullable:
            return None
        if type(value) is not dict:
            raise expected("a union", value)
        for at, member in enumerate(loaders):
            item = value.get(f"member{at}")
            if item is not None:
                return member(item)
        if shape.is_nullable:
            return None
        raise expected("a union with a value", None)

    return load


def _union_dumper(shape: UnionShape) -> Function:
    dumpers = [dumper(each) for each in shape.members]
    if len(dumpers) == 1:
        only = dumpers[0]
        return lambda value: None if value is None and shape.is_nullable else only(value)

    def dump(value: Any) -> Any:
        if value is None and shape.is_nullable:
            return None
        at = member_of(shape, value)
        if at is None:
            raise expected("a type of the union", value)
        return {f"member{at}": dumpers[at](value)}

    return dump
