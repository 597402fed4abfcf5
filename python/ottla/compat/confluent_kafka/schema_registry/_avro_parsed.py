"""Avro schemas of a serializer or deserializer, parsed, with what rules need of them.

All of it is calculated once for a schema, not for each record.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._avro_rules import (
    get_inline_tags,
    transform,
)
from ottla.compat.confluent_kafka.schema_registry._avro_schema import (
    load_text,
    parse,
    referenced_schemas,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldTransform,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._steps import Steps

AVRO_TYPE = "AVRO"


class ParsedAvro:
    """A schema, parsed, and what its rules need."""

    def __init__(self, schema: Schema, parsed: Any) -> None:
        self.parsed = parsed
        self.text = None if schema.references else schema.schema_str

    @cached_property
    def expanded(self) -> Any:
        """The schema with all names expanded."""
        from fastavro.schema import expand_schema

        return expand_schema(self.parsed)

    @cached_property
    def tags(self) -> dict[str, set[str]]:
        """The tags of fields."""
        return get_inline_tags(self.parsed)

    def transformed(self, ctx: RuleContext, change: FieldTransform, message: Any) -> Any:
        """Return a value with a rule applied to its fields."""
        return transform(ctx, self.expanded, message, change)


class AvroSchemas:
    """The parsed schemas of a serializer or deserializer."""

    _registry: Any
    _parsed_schemas: ParsedSchemaCache

    def _parse(self, schema: Schema) -> Steps[ParsedAvro]:
        known: ParsedAvro | None = self._parsed_schemas.get_parsed_schema(schema)
        if known is None:
            if schema.schema_str is None:
                raise TypeError("Schema string cannot be None")
            named = yield from referenced_schemas(schema, self._registry)
            text = load_text(schema.schema_str).schema_str or ""
            known = ParsedAvro(schema, parse(text, named))
            self._parsed_schemas.set(schema, known)
        return known
