"""Schemas that have been parsed, by schema."""

from __future__ import annotations

from threading import Lock
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema


class ParsedSchemaCache:
    """A cache of parsed schemas. Any thread may use it; the registry bounds its size."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._parsed: dict[Schema, Any] = {}

    def set(self, schema: Schema, parsed_schema: Any) -> None:
        """Keep a parsed schema."""
        with self._lock:
            self._parsed[schema] = parsed_schema

    def get_parsed_schema(self, schema: Schema) -> Any:
        """Return the parsed schema, or None."""
        return self._parsed.get(schema)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._parsed.clear()
