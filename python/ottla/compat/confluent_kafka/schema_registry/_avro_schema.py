"""Avro schemas: texts with references, names of records, and what ottla's decoder covers."""

from __future__ import annotations

import json
from copy import deepcopy
from decimal import Decimal
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._steps import Steps

AvroSchema: TypeAlias = str | list[Any] | dict[str, Any]
# A value of Avro; a pair chooses a type of a union.
AvroMessage: TypeAlias = (
    str | float | int | Decimal | bool | bytes | list[Any] | dict[str, Any] | tuple[Any, Any] | None
)

# The types and logical types whose values are the same from ottla's decoder and from fastavro.
_SAME = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "fixed", "enum"}
)
_SAME_LOGICAL = frozenset(
    {
        ("int", "date"),
        ("int", "time-millis"),
        ("long", "time-micros"),
        ("long", "timestamp-millis"),
        ("long", "timestamp-micros"),
        ("long", "local-timestamp-millis"),
        ("long", "local-timestamp-micros"),
        ("bytes", "decimal"),
        ("fixed", "decimal"),
    }
)


def load_text(schema_str: str) -> Schema:
    """Return a schema of a text, in which the name of a primitive type may stand alone."""
    stripped = schema_str.strip()
    if stripped[:1] not in ("{", "["):
        stripped = f'{{"type":{stripped}}}'
    return Schema(stripped, schema_type="AVRO")


def referenced_schemas(schema: Schema, registry: Any) -> Steps[dict[str, AvroSchema]]:
    """Return the schemas that a schema refers to, directly or not, by name and by full name.

    They are not parsed: a type that two of them refer to may be defined only once.
    """
    found: dict[str, AvroSchema] = {}
    for reference in schema.references or []:
        if reference.subject is None or reference.version is None:
            raise TypeError("Subject or version cannot be None")
        registered = yield registry.get_version(reference.subject, reference.version, True)
        found.update((yield from referenced_schemas(registered.schema, registry)))
        if registered.schema.schema_str is None:
            raise TypeError("Schema string cannot be None")
        if reference.name is None:
            raise TypeError("Name cannot be None")
        raw = json.loads(registered.schema.schema_str)
        found[reference.name] = raw
        if isinstance(raw, dict) and "name" in raw:
            found[full_name(raw)] = raw
    return found


def full_name(schema: dict[str, Any]) -> str:
    """Return the name of a type with its namespace."""
    name: str = schema["name"]
    namespace = schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name


def parse(schema_str: str, named_schemas: dict[str, AvroSchema]) -> Any:
    """Return a parsed schema, in which named ones are inlined where they are first used."""
    root = json.loads(schema_str)
    try:
        from fastavro import repository
        from fastavro.schema import load_schema
    except ImportError:
        return _named_root(root)

    class Repository(repository.AbstractSchemaRepository):
        def load(self, name: str) -> Any:
            return schemas.get(name)

    schemas = deepcopy(named_schemas) | {"$root": root}
    return load_schema("$root", repo=Repository())


def _named_root(root: Any) -> Any:
    if isinstance(root, dict) and "name" in root:
        return {**root, "name": full_name(root)}
    return root


def is_same_in_ottla(schema: Any) -> bool:
    """Return whether ottla's decoder yields for a schema the values that fastavro yields."""
    return _same(schema, {}, set(), "")


def _same(schema: Any, names: dict[str, Any], open_names: set[str], space: str) -> bool:
    if isinstance(schema, list):
        others = [item for item in schema if item != "null"]
        return len(others) == 1 and len(schema) == 2 and _same(others[0], names, open_names, space)
    if isinstance(schema, str):
        if schema in _SAME:
            return True
        name = schema if "." in schema or not space else f"{space}.{schema}"
        # A type within itself has no column; it must be defined before it is used.
        return name in names and name not in open_names
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    logical = schema.get("logicalType")
    if logical is not None and (kind, logical) not in _SAME_LOGICAL:
        return False
    if not isinstance(kind, str):
        return _same(kind, names, open_names, space)
    if kind == "array":
        return _same(schema.get("items"), names, open_names, space)
    if kind == "map":
        return _same(schema.get("values"), names, open_names, space)
    if kind in ("record", "enum", "fixed"):
        return _same_named(schema, names, open_names, space)
    return kind in _SAME


def _same_named(
    schema: dict[str, Any], names: dict[str, Any], open_names: set[str], space: str
) -> bool:
    name = schema.get("name")
    if not isinstance(name, str) or schema.get("aliases"):
        return False
    if "." not in name:
        own = schema.get("namespace", space)
        name = f"{own}.{name}" if own else name
    if name in names:
        return False
    names[name] = schema
    if schema["type"] != "record":
        return True
    fields = schema.get("fields")
    if not isinstance(fields, list) or not fields:
        return False
    open_names.add(name)
    inner = name.rpartition(".")[0]
    same = all(
        isinstance(field, dict) and _same(field.get("type"), names, open_names, inner)
        for field in fields
    )
    open_names.discard(name)
    return same
