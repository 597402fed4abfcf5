"""The JSON Schema of a shape: for dataclasses, attrs classes, NamedTuples and TypedDicts.

Invariant: a class with fields is written once, in ``$defs``, under its name.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from typing import Any

from ottla.errors import SchemaError
from ottla.schema.objects.field_error import FieldError, unfit_default
from ottla.schema.objects.json_values import dumper
from ottla.schema.objects.shapes import (
    NO_DEFAULT,
    AnyShape,
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
    contains_itself,
)

_SCALARS: dict[type, dict[str, Any]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    dt.datetime: {"type": "string", "format": "date-time"},
    dt.date: {"type": "string", "format": "date"},
    dt.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_TYPES = {str: "string", int: "integer", bool: "boolean", float: "number"}


class JsonSchema:
    """Makes a schema."""

    def __init__(self) -> None:
        self._classes: dict[str, type] = {}
        self._defs: dict[str, Any] = {}
        # The classes whose fields are being written.
        self._open: set[str] = set()

    def of_root(self, shape: Shape, path: str) -> dict[str, Any]:
        """Return the schema of a whole value.

        Raises:
            SchemaError: two classes have one name.
        """
        if isinstance(shape, RecordShape) and not contains_itself(shape):
            schema = self._record(shape, path)
        else:
            schema = self.of(shape, path)
        return {**schema, "$defs": self._defs} if self._defs else schema

    def of(self, shape: Shape, path: str) -> dict[str, Any]:
        """Return the schema of a value in another one."""
        if isinstance(shape, AnyShape):
            return {}
        if isinstance(shape, Scalar):
            return dict(_SCALARS[shape.cls])
        if isinstance(shape, DecimalShape):
            return {"type": "string"}
        if isinstance(shape, EnumShape):
            return _one_of([each.value for each in shape.cls], path)
        if isinstance(shape, LiteralShape):
            return _one_of(list(shape.values), path)
        if isinstance(shape, ListShape):
            return {"type": "array", "items": self.of(shape.item, f"{path}[]")}
        if isinstance(shape, MapShape):
            return {"type": "object", "additionalProperties": self.of(shape.value, f"{path}[]")}
        if isinstance(shape, UnionShape):
            members = [self.of(each, path) for each in shape.members]
            null = [{"type": "null"}] if shape.is_nullable else []
            return {"anyOf": [*members, *null]}
        if isinstance(shape, RecursiveShape):
            shape = shape.record
        known = self._classes.setdefault(shape.name, shape.cls)
        if known is not shape.cls:
            raise SchemaError(
                f"{path}: two types are named {shape.name}, of {known.__module__} and of "
                f"{shape.cls.__module__}: rename one"
            )
        if shape.name not in self._defs and shape.name not in self._open:
            self._open.add(shape.name)
            self._defs[shape.name] = self._record(shape, path)
        return {"$ref": f"#/$defs/{shape.name}"}

    def _record(self, shape: RecordShape, path: str) -> dict[str, Any]:
        schema: dict[str, Any] = {"title": shape.name, "type": "object"}
        if shape.doc:
            schema["description"] = shape.doc
        schema["properties"] = {
            each.wire_name: self._field(each, f"{path}.{each.name}") for each in shape.fields
        }
        schema["required"] = [each.wire_name for each in shape.fields if not each.is_optional]
        return schema

    def _field(self, field: FieldShape, path: str) -> dict[str, Any]:
        schema = self.of(field.shape, path)
        if field.doc:
            schema["description"] = field.doc
        if field.default is not NO_DEFAULT:
            try:
                schema["default"] = dumper(field.shape)(field.default)
            except FieldError as error:
                raise unfit_default(path, error) from error
        return schema


def _one_of(values: list[Any], path: str) -> dict[str, Any]:
    values = [each.value if isinstance(each, enum.Enum) else each for each in values]
    types = {_TYPES.get(type(each)) for each in values}
    if None in types:
        raise SchemaError(f"{path}: a value of the enumeration is no text, number or boolean")
    kind = {"type": types.pop()} if len(types) == 1 else {}
    return {**kind, "enum": values}
