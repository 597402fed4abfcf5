"""The two shapes of records, flat with 10 fields and nested with 40, and random records of them.

``flat.avsc`` and ``nested.avsc`` define them; schemas of other formats are derived from these.
"""

from __future__ import annotations

import json
import random
import string
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

SHAPES = {"flat": "10 fields", "nested": "40 fields"}
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# About the year 2026.
_FIRST_SECOND = 1_767_000_000
_SCALARS = {
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
}


def avro_text(shape: str) -> str:
    """Return the text of a shape's Avro schema."""
    return (Path(__file__).parent / f"{shape}.avsc").read_text()


def avro_schema(shape: str) -> Any:
    """Return a shape's Avro schema, from JSON."""
    return json.loads(avro_text(shape))


def split_null(schema: Any) -> tuple[Any, bool]:
    """Return a schema without its null, and whether it had one."""
    return (schema[1], True) if isinstance(schema, list) else (schema, False)


def is_timestamp(schema: Any) -> bool:
    """Return whether it is a timestamp in microseconds."""
    return isinstance(schema, dict) and schema.get("logicalType") == "timestamp-micros"


def arrow_type(schema: Any, timestamp: pa.DataType | None = None) -> pa.DataType:
    """Return the Arrow type; `timestamp` is that of timestamps, by default microseconds in UTC."""
    schema, _ = split_null(schema)
    convert = partial(arrow_type, timestamp=timestamp)
    if isinstance(schema, str):
        return _SCALARS[schema]
    if is_timestamp(schema):
        return timestamp or pa.timestamp("us", "UTC")
    if schema["type"] == "array":
        return pa.list_(convert(schema["items"]))
    if schema["type"] == "map":
        return pa.map_(pa.string(), convert(schema["values"]))
    return pa.struct([(field["name"], convert(field["type"])) for field in schema["fields"]])


def records(shape: str, count: int) -> list[Any]:
    """Return random records, the same ones each time."""
    schema, source = avro_schema(shape), random.Random(shape)
    return [_value(schema, source) for _ in range(count)]


def _value(schema: Any, source: random.Random) -> Any:
    schema, optional = split_null(schema)
    if optional and source.random() < 0.3:
        return None
    if is_timestamp(schema):
        micros = source.randrange(1_000_000)
        return _EPOCH + timedelta(
            seconds=_FIRST_SECOND + source.randrange(10**7), microseconds=micros
        )
    if isinstance(schema, dict):
        if schema["type"] == "array":
            return [_value(schema["items"], source) for _ in range(source.randrange(5))]
        if schema["type"] == "map":
            size = source.randrange(4)
            return {f"{_text(source)}-{n}": _value(schema["values"], source) for n in range(size)}
        return {field["name"]: _value(field["type"], source) for field in schema["fields"]}
    if schema == "string":
        return _text(source)
    if schema == "double":
        # Sums are exact, in any order.
        return source.randrange(10**6) / 4
    if schema == "boolean":
        return source.random() < 0.5
    return source.randrange(2**40 if schema == "long" else 1000)


def _text(source: random.Random) -> str:
    return "".join(source.choices(string.ascii_letters, k=source.randrange(4, 17)))


def as_json(record: Any) -> Any:
    """Return a record with timestamps as text, as JSON has them."""
    if isinstance(record, datetime):
        return record.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(record, dict):
        return {name: as_json(value) for name, value in record.items()}
    return [as_json(value) for value in record] if isinstance(record, list) else record


def json_schema(schema: Any) -> dict[str, Any]:
    """Return the JSON Schema of a shape or of a part of it."""
    schema, optional = split_null(schema)
    if isinstance(schema, str) or is_timestamp(schema):
        names = {"long": "integer", "int": "integer", "double": "number"}
        name = "string" if is_timestamp(schema) else names.get(schema, schema)
        described: dict[str, Any] = {"type": name}
    elif schema["type"] == "array":
        described = {"type": "array", "items": json_schema(schema["items"])}
    elif schema["type"] == "map":
        described = {"type": "object", "additionalProperties": json_schema(schema["values"])}
    else:
        fields = {field["name"]: json_schema(field["type"]) for field in schema["fields"]}
        described = {"title": schema["name"], "type": "object", "properties": fields}
        described["required"] = list(fields)
    return {**described, "type": [described["type"], "null"]} if optional else described
