"""Functions that convert values of shapes, shared by Avro and JSON.

Invariant: an error in a field or an item is raised with the path that leads to it.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from ottla.schema.objects.field_error import FieldError, expected, of_library
from ottla.schema.objects.shapes import (
    SCALARS,
    DecimalShape,
    FieldShape,
    LiteralShape,
    RecordShape,
    Recursion,
    RecursiveShape,
    Shape,
)

# The class of the values that need no conversion, or None, and the function for the others.
FieldFunction: TypeAlias = tuple[type | None, Callable[[Any], Any]]

# Of a record within itself, as deep as messages of Protobuf are by default.
_MAX_LEVELS = 100


def scalar_function(cls: type) -> Callable[[Any], Any]:
    """Return the function that returns values of a class, and refuses others."""
    name = SCALARS.get(cls, cls.__name__)

    def check(value: Any) -> Any:
        # A bool is an int, and a datetime a date, but a mistake here.
        is_other = type(value) is not cls and isinstance(value, (bool, dt.datetime))
        if is_other or not isinstance(value, cls):
            raise expected(name, value)
        return value

    return check


def dump_int(value: Any) -> Any:
    """Return an int of 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise expected("int", value)
    if not -(2**63) <= value < 2**63:
        raise FieldError("expected an int of 64 bits")
    return value


def aware(value: Any) -> Any:
    """Return a datetime, which must have a time zone."""
    if not isinstance(value, dt.datetime):
        raise expected("datetime", value)
    if value.utcoffset() is None:
        raise FieldError("naive datetime: give it a time zone, e.g. datetime.now(timezone.utc)")
    return value


def dump_float(value: Any) -> Any:
    """Return a float, also of an int."""
    if isinstance(value, bool) or not isinstance(value, (float, int)):
        raise expected("float", value)
    try:
        return float(value)
    except OverflowError:
        raise FieldError("expected a number that a float holds") from None


def decimal_dumper(shape: DecimalShape) -> Callable[[Any], Any]:
    """Return the function that returns decimals that have the digits of the shape."""

    def dump(value: Any) -> Any:
        if not isinstance(value, decimal.Decimal):
            raise expected("Decimal", value)
        if not value.is_finite():
            raise FieldError(f"expected a finite Decimal, not {value}")
        precision = shape.precision
        if precision is not None:
            _, digits, exponent = value.normalize(decimal.Context(prec=200)).as_tuple()
            assert isinstance(exponent, int)
            if -exponent > precision.scale or len(digits) + exponent > (
                precision.digits - precision.scale
            ):
                raise FieldError(
                    f"expected a Decimal of {precision.digits} digits with {precision.scale} after "
                    f"the point, not {str(value)[:60]}"
                )
        return value

    return dump


def literal_function(shape: LiteralShape) -> Callable[[Any], Any]:
    """Return the function that refuses all but the values of a literal."""
    cls = type(shape.values[0])

    def check(value: Any) -> Any:
        if type(value) is not cls or value not in shape.values:
            raise expected(f"one of {', '.join(map(repr, shape.values))}", value)
        return value

    return check


def list_function(
    item: FieldFunction, make: Callable[[list[Any]], Any], cls: Any
) -> Callable[[Any], Any]:
    """Return the function that converts the items of a list."""
    exact, convert = item
    name = getattr(cls, "__name__", str(cls))

    def convert_all(value: Any) -> Any:
        is_text = isinstance(value, (str, bytes, bytearray))
        if is_text or not isinstance(value, (Sequence, AbstractSet)):
            raise expected(name, value)
        items = list(value)
        for at, each in enumerate(items):
            if type(each) is not exact:
                try:
                    items[at] = convert(each)
                except FieldError as error:
                    raise error.under(f"[{at}]")  # noqa: B904 - has the cause
        return items if make is list else make(items)

    return convert_all


def map_function(item: FieldFunction) -> Callable[[Any], Any]:
    """Return the function that converts the values of a dict."""
    exact, convert = item

    def convert_all(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise expected("dict", value)
        items = {}
        for key, each in value.items():
            if type(key) is not str:
                raise expected("a key of str", key)
            try:
                items[key] = each if type(each) is exact else convert(each)
            except FieldError as error:
                raise error.under(f"[{key!r}]")  # noqa: B904 - has the cause
        return items

    return convert_all


def recursive_function(
    shape: RecursiveShape,
    of: Callable[[Shape], Callable[[Any], Any]],
    *,
    remembers: bool = False,
) -> Callable[[Any], Any]:
    """Return the function that converts a record within itself, to a bounded depth.

    Args:
        shape: the record.
        of: returns the function of a shape; it is called once, with the first value.
        remembers: whether a value is converted only once: the members of a union are tried one
            after the other, which would double the work with each level.
    """
    recursion = shape.recursion
    functions, levels = recursion.functions, recursion.levels

    def convert(value: Any) -> Any:
        function = functions.get(of)
        if function is None:
            function = functions.setdefault(of, of(shape.record))
        level = getattr(levels, "count", 0)
        if level == _MAX_LEVELS:
            raise FieldError(
                f"{shape.record.name} is nested more than {_MAX_LEVELS} levels deep, or an object "
                "contains itself"
            )
        levels.count = level + 1
        try:
            return function(value) if not remembers else _once(recursion, function, value)
        except RecursionError:
            raise FieldError("it is nested too deep for Python's recursion limit") from None
        finally:
            levels.count = level
            if level == 0:
                levels.known = None

    return convert


def _once(recursion: Recursion, function: Callable[[Any], Any], value: Any) -> Any:
    """Convert a value, or return or raise what its conversion did before in this call."""
    known = getattr(recursion.levels, "known", None)
    if known is None:
        known = recursion.levels.known = {}
    key = id(recursion), id(value)
    if (found := known.get(key)) is not None:
        _, result, failure = found
        if failure is not None:
            raise FieldError(*failure)
        return result
    # Kept with the value, whose id would otherwise be that of another one after its end.
    try:
        result = function(value)
    except FieldError as error:
        known[key] = value, None, (error.reason, error.path, error.depth)
        raise
    known[key] = value, result, None
    return result


def record_loader(
    shape: RecordShape, fields: Sequence[tuple[FieldShape, FieldFunction]]
) -> Callable[[Any], Any]:
    """Return the function that makes an object of a dict."""
    plan = [(f.wire_name, f.argument, f.is_optional, *function) for f, function in fields]
    make = shape.make

    def load(value: Any) -> Any:
        if type(value) is not dict:
            raise expected(f"an object of {shape.name}", value)
        arguments = {}
        for wire_name, argument, is_optional, exact, convert in plan:
            try:
                item = value[wire_name]
            except KeyError:
                if is_optional:
                    continue
                raise FieldError("missing", wire_name) from None
            if type(item) is not exact:
                try:
                    item = convert(item)
                except FieldError as error:
                    raise error.under(wire_name)  # noqa: B904 - has the cause
            arguments[argument] = item
        try:
            return make(arguments)
        except Exception as error:
            raise of_library(error) from error

    return load


def record_dumper(
    shape: RecordShape, fields: Sequence[tuple[FieldShape, FieldFunction]]
) -> Callable[[Any], Any]:
    """Return the function that makes a dict of an object."""
    plan = [(f.name, f.wire_name, *function) for f, function in fields]
    get = shape.get
    cls = dict if hasattr(shape.cls, "__required_keys__") else shape.cls

    def dump(value: Any) -> Any:
        if not isinstance(value, cls):
            raise expected(shape.cls.__name__, value)
        values = {}
        for name, wire_name, exact, convert in plan:
            try:
                item = get(value, name)
            except (AttributeError, KeyError):
                raise FieldError("missing", name) from None
            if type(item) is not exact:
                try:
                    item = convert(item)
                except FieldError as error:
                    raise error.under(name)  # noqa: B904 - has the cause
            values[wire_name] = item
        return values

    return dump
