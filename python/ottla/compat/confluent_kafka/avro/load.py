"""Schemas of the avro library, from texts and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ottla.compat.confluent_kafka.avro.error import ClientError


def loads(schema_str: str) -> Any:
    """Return the schema of a text.

    Raises:
        ClientError: the text is not a schema.
    """
    from avro import schema
    from avro.errors import SchemaParseException

    _make_hashable(schema)
    try:
        return schema.parse(schema_str)
    except SchemaParseException as error:
        raise ClientError(f"Schema parse failed: {error}") from error


def load(fp: str) -> Any:
    """Return the schema of a file.

    Raises:
        ClientError: the file is not a schema.
    """
    return loads(Path(fp).read_text(encoding="utf-8"))


def _make_hashable(schema: Any) -> None:
    # The client keeps ids by schema, and some of the library's classes are not hashable.
    for name in ("RecordSchema", "PrimitiveSchema", "UnionSchema"):
        if getattr(schema, name).__hash__ is None:
            getattr(schema, name).__hash__ = _hash


def _hash(self: Any) -> int:
    return hash(str(self))
