"""The conversion between objects and the values of their JSON, for types without a library of JSON.

Times are texts of RFC 3339, decimals texts, bytes base64, and members of enumerations their values.
Invariant: nothing is written that JSON does not have.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
import uuid
from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.schema.objects.field_error import FieldError, expected
from ottla.schema.objects.json_unions import union_dumper, union_loader
from ottla.schema.objects.shapes import (
    AnyShape,
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
from ottla.schema.objects.value_functions import (
    FieldFunction,
    aware,
    decimal_dumper,
    dump_float,
    list_function,
    literal_function,
    map_function,
    record_dumper,
    record_loader,
    recursive_function,
    scalar_function,
)

Function: TypeAlias = Callable[[Any], Any]


def _of_text(name: str, parse: Callable[[str], Any]) -> Function:
    def load(value: Any) -> Any:
        if type(value) is not str:
            raise expected(name, value)
        try:
            return parse(value)
        except (ValueError, decimal.InvalidOperation):
            raise expected(name, value) from None

    return load


def _with_offset(text: str) -> str:
    # Python 3.10 does not read Z.
    return f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text


def _aware(text: str) -> dt.datetime:
    value = dt.datetime.fromisoformat(_with_offset(text))
    if value.utcoffset() is None:
        raise ValueError(text)
    return value


def _load_float(value: Any) -> Any:
    if type(value) not in (int, float, decimal.Decimal):
        raise expected("float", value)
    try:
        return float(value)
    except OverflowError:
        raise expected("float", value) from None


def _load_decimal(value: Any) -> Any:
    if type(value) not in (int, str, decimal.Decimal):
        raise expected("Decimal", value)
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:
        raise expected("Decimal", value) from None
    if not number.is_finite():
        raise expected("a finite Decimal", value)
    return number


def _load_any(value: Any) -> Any:
    """Return a value with floats in place of the decimals that other fields need."""
    if type(value) is decimal.Decimal:
        return float(value)
    if type(value) is list:
        return [_load_any(each) for each in value]
    if type(value) is dict:
        return {key: _load_any(each) for key, each in value.items()}
    return value


_LOADERS: dict[type, Function] = {
    float: _load_float,
    bytes: _of_text("base64", lambda text: base64.b64decode(text, validate=True)),
    dt.datetime: _of_text("a datetime of RFC 3339 with an offset", _aware),
    dt.date: _of_text("a date of RFC 3339", dt.date.fromisoformat),
    dt.time: _of_text("a time of RFC 3339", lambda text: dt.time.fromisoformat(_with_offset(text))),
    uuid.UUID: _of_text("a UUID", uuid.UUID),
}


def loader(shape: Shape) -> Function:
    """Return the function that makes an object of a value of JSON."""
    if isinstance(shape, AnyShape):
        return _load_any
    if isinstance(shape, Scalar):
        return _LOADERS.get(shape.cls) or scalar_function(shape.cls)
    if isinstance(shape, DecimalShape):
        return _load_decimal
    if isinstance(shape, EnumShape):
        return _enum_loader(shape)
    if isinstance(shape, LiteralShape):
        return literal_function(shape)
    if isinstance(shape, ListShape):
        return list_function(_field(shape.item, loader), shape.make, list)
    if isinstance(shape, MapShape):
        return map_function(_field(shape.value, loader))
    if isinstance(shape, UnionShape):
        return union_loader(shape, [loader(each) for each in shape.members])
    if isinstance(shape, RecursiveShape):
        return recursive_function(shape, loader, remembers=True)
    return record_loader(shape, [(each, _field(each.shape, loader)) for each in shape.fields])


def _dump_float(value: Any) -> Any:
    number = dump_float(value)
    if not math.isfinite(number):
        raise FieldError(f"expected a number that JSON has, not {number}")
    return number


def _dump_any(value: Any) -> Any:
    """Refuse what JSON does not have, and Python would write all the same."""
    if isinstance(value, float):
        return _dump_float(value)
    if isinstance(value, (list, tuple)):
        return _ANY_ITEMS(value)
    return _ANY_VALUES(value) if isinstance(value, dict) else value


_ANY_ITEMS = list_function((None, _dump_any), list, list)
_ANY_VALUES = map_function((None, _dump_any))


def _dumped(cls: type, convert: Function) -> Function:
    check = scalar_function(cls)
    return lambda value: convert(check(value))


_DUMPERS: dict[type, Function] = {
    float: _dump_float,
    bytes: _dumped(bytes, lambda value: base64.b64encode(value).decode()),
    dt.datetime: lambda value: aware(value).isoformat(),
    dt.date: _dumped(dt.date, dt.date.isoformat),
    dt.time: _dumped(dt.time, dt.time.isoformat),
    uuid.UUID: _dumped(uuid.UUID, str),
}


def dumper(shape: Shape) -> Function:
    """Return the function that makes the value of JSON of an object."""
    if isinstance(shape, AnyShape):
        return _dump_any
    if isinstance(shape, Scalar):
        return _DUMPERS.get(shape.cls) or scalar_function(shape.cls)
    if isinstance(shape, DecimalShape):
        check = decimal_dumper(shape)
        return lambda value: str(check(value))
    if isinstance(shape, EnumShape):
        return _enum_dumper(shape)
    if isinstance(shape, LiteralShape):
        return literal_function(shape)
    if isinstance(shape, ListShape):
        return list_function(_field(shape.item, dumper), list, shape.cls)
    if isinstance(shape, MapShape):
        return map_function(_field(shape.value, dumper))
    if isinstance(shape, UnionShape):
        members = shape.members
        return union_dumper(
            shape, [dumper(each) for each in members], [loader(each) for each in members]
        )
    if isinstance(shape, RecursiveShape):
        return recursive_function(shape, dumper)
    return record_dumper(shape, [(each, _field(each.shape, dumper)) for each in shape.fields])


def _field(shape: Shape, of: Callable[[Shape], Function]) -> FieldFunction:
    """Return the class of the values that need no conversion, and the function for the others."""
    is_plain = isinstance(shape, Scalar) and shape.cls in (str, int, bool)
    is_float = of is loader and isinstance(shape, Scalar) and shape.cls is float
    return (shape.cls if (is_plain or is_float) and isinstance(shape, Scalar) else None), of(shape)


def _enum_loader(shape: EnumShape) -> Function:
    by_value = {(type(each.value), each.value): each for each in shape.cls}
    values = ", ".join(repr(each.value) for each in shape.cls)

    def load(value: Any) -> Any:
        if type(value) is decimal.Decimal:
            value = float(value)
        try:
            return by_value[type(value), value]
        except (KeyError, TypeError):
            raise expected(f"one of {values} ({shape.cls.__name__})", value) from None

    return load


def _enum_dumper(shape: EnumShape) -> Function:
    def dump(value: Any) -> Any:
        if not isinstance(value, shape.cls):
            raise expected(shape.cls.__name__, value)
        return value.value

    return dump


def has_decimals(shape: Shape) -> bool:
    """Return whether a shape has decimals."""
    if isinstance(shape, ListShape):
        return has_decimals(shape.item)
    if isinstance(shape, MapShape):
        return has_decimals(shape.value)
    if isinstance(shape, UnionShape):
        return any(has_decimals(each) for each in shape.members)
    if isinstance(shape, RecordShape):
        return any(has_decimals(each.shape) for each in shape.fields)
    return isinstance(shape, DecimalShape)
