"""The Avro schema of a shape.

Invariant: the default of a field is of the first branch of its union, as Avro requires.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable
from typing import Any

from ottla.errors import SchemaError
from ottla.schema.objects.field_error import FieldError, unfit_default
from ottla.schema.objects.shapes import (
    NO_DEFAULT,
    DecimalShape,
    EnumShape,
    FieldShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    RecursiveShape,
    Scalar,
    Shape,
    UnionShape,
)
from ottla.schema.objects.union_members import member_of

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND = dt.timedelta(microseconds=1)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCALARS: dict[type, Any] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    dt.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    dt.date: {"type": "int", "logicalType": "date"},
    dt.time: {"type": "long", "logicalType": "time-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}


def ordered(shape: Shape, default: Any) -> tuple[Shape, bool]:
    """Return the shape of a field with the default's member first, and whether null is first."""
    if not isinstance(shape, UnionShape):
        return shape, False
    if default is NO_DEFAULT or default is None:
        return shape, True
    first = member_of(shape, default)
    if first is None:
        raise SchemaError(f"the default {default!r} is of no type of the union")
    members = list(shape.members)
    members.insert(0, members.pop(first))
    return UnionShape(tuple(members), shape.is_nullable), False


class AvroSchema:
    """Makes a schema; a named type is written once, and then by its name.

    Args:
        dumper: returns the function that refuses what is no value of a shape.
    """

    def __init__(self, dumper: Callable[[Shape], Callable[[Any], Any]]) -> None:
        self._dumper = dumper
        self._names: dict[str, type] = {}

    def of(self, shape: Shape, path: str, *, is_null_first: bool = True) -> Any:
        """Return the schema of a shape, as the value of its JSON.

        Raises:
            SchemaError: Avro has no such type.
        """
        if isinstance(shape, Scalar):
            return _SCALARS[shape.cls]
        if isinstance(shape, DecimalShape):
            if shape.precision is None:
                raise SchemaError(
                    f"{path} is a decimal without a number of digits: annotate it, such as "
                    "Annotated[Decimal, ottla.schema.Precision(9, scale=2)]"
                )
            digits = {"precision": shape.precision.digits, "scale": shape.precision.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        if isinstance(shape, LiteralShape):
            return _SCALARS[type(shape.values[0])]
        if isinstance(shape, ListShape):
            return {"type": "array", "items": self.of(shape.item, f"{path}[]")}
        if isinstance(shape, MapShape):
            return {"type": "map", "values": self.of(shape.value, f"{path}[]")}
        if isinstance(shape, EnumShape):
            if self._names.get(shape.cls.__name__) is shape.cls:
                return shape.cls.__name__
            symbols = [_name(each.name, f"{path}: the member") for each in shape.cls]
            return self._named(
                shape.cls.__name__, shape.cls, {"type": "enum", "symbols": symbols}, path
            )
        if isinstance(shape, UnionShape):
            return self._union(shape, path, is_null_first=is_null_first)
        if isinstance(shape, RecordShape):
            return self._record(shape, path)
        if isinstance(shape, RecursiveShape):
            return shape.record.name
        raise SchemaError(f"{path} may be of any type, which Avro does not have: name the types")

    def _named(self, name: str, cls: type, schema: dict[str, Any], path: str) -> Any:
        known = self._names.setdefault(_name(name, f"{path}: the class"), cls)
        if known is cls:
            return {"type": schema.pop("type"), "name": name, **schema}
        raise SchemaError(
            f"{path}: two types are named {name}, of {known.__module__} and of {cls.__module__}: "
            "rename one"
        )

    def _record(self, shape: RecordShape, path: str) -> Any:
        if self._names.get(shape.name) is shape.cls:
            return shape.name
        schema: dict[str, Any] = {"type": "record"}
        if shape.doc:
            schema["doc"] = shape.doc
        made = self._named(shape.name, shape.cls, schema, path)
        made["fields"] = [self._field(each, f"{path}.{each.name}") for each in shape.fields]
        return made

    def _field(self, field: FieldShape, path: str) -> dict[str, Any]:
        if field.default is not NO_DEFAULT:
            try:
                self._dumper(field.shape)(field.default)
            except FieldError as error:
                raise unfit_default(path, error) from error
        ordered_shape, is_null_first = ordered(field.shape, field.default)
        of = self.of(ordered_shape, path, is_null_first=is_null_first)
        made = {"name": _name(field.wire_name, path), "type": of}
        if field.default is not NO_DEFAULT:
            made["default"] = default_of(ordered_shape, field.default)
        if field.doc:
            made["doc"] = field.doc
        return made

    def _union(self, shape: UnionShape, path: str, *, is_null_first: bool) -> Any:
        members = [self.of(each, path) for each in shape.members]
        kinds = [_kind(each) for each in members]
        twice = next((each for each in kinds if kinds.count(each) > 1), None)
        if twice is not None:
            raise SchemaError(
                f"{path}: two types of the union are Avro's {twice}, which tells no apart"
            )
        null = ["null"] if shape.is_nullable else []
        branches = [*null, *members] if is_null_first else [*members, *null]
        return branches if len(branches) > 1 else branches[0]


def _kind(schema: Any) -> str:
    """Return the type of a branch, of which a union has one, or the name of a named type."""
    if not isinstance(schema, dict):
        return str(schema)
    return str(schema["name"] if schema["type"] in ("record", "enum") else schema["type"])


def _name(name: str, path: str) -> str:
    if not _NAME.fullmatch(name):
        raise SchemaError(f"{path}: {name!r} is no name in Avro, which has A-Z, a-z, 0-9 and _")
    return name


def default_of(shape: Shape, value: Any) -> Any:
    """Return a default as the value of its JSON."""
    if value is None:
        return None
    if isinstance(shape, UnionShape):
        return default_of(shape.members[member_of(shape, value) or 0], value)
    if isinstance(shape, ListShape):
        return [default_of(shape.item, each) for each in value]
    if isinstance(shape, MapShape):
        return {key: default_of(shape.value, each) for key, each in value.items()}
    if isinstance(shape, RecursiveShape):
        return default_of(shape.record, value)
    if isinstance(shape, RecordShape):
        return {
            each.wire_name: default_of(each.shape, shape.get(value, each.name))
            for each in shape.fields
        }
    if isinstance(shape, EnumShape):
        return value.name
    if isinstance(value, decimal.Decimal) and isinstance(shape, DecimalShape):
        unscaled = int(value.scaleb(shape.precision.scale if shape.precision else 0))
        data = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        return data.decode("latin-1")
    return _scalar_default(value)


def _scalar_default(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dt.datetime):
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, dt.date):
        return value.toordinal() - _EPOCH.toordinal()
    if isinstance(value, dt.time):
        return (dt.datetime.combine(_EPOCH, value) - _EPOCH.replace(tzinfo=None)) // _MICROSECOND
    return str(value) if isinstance(value, uuid.UUID) else value
