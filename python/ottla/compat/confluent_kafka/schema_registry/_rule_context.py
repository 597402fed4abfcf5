"""The context of a rule: the record, the schema of the rule, and the current field."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka.schema_registry._rule_documents import Rule, RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry.wildcard_matcher import wildcard_match
from ottla.compat.confluent_kafka.serialization import SerializationContext


class FieldType(str, Enum):
    """The type of a field, in the words of Avro."""

    RECORD = "RECORD"
    ENUM = "ENUM"
    ARRAY = "ARRAY"
    MAP = "MAP"
    COMBINED = "COMBINED"
    FIXED = "FIXED"
    STRING = "STRING"
    BYTES = "BYTES"
    INT = "INT"
    LONG = "LONG"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    NULL = "NULL"


_PRIMITIVE = frozenset(
    {
        FieldType.INT,
        FieldType.LONG,
        FieldType.FLOAT,
        FieldType.DOUBLE,
        FieldType.BOOLEAN,
        FieldType.NULL,
        FieldType.STRING,
        FieldType.BYTES,
    }
)


class FieldContext:
    """A field that a rule is applied to. Its names are those of the registered schema."""

    __slots__ = [
        "containing_message",
        "field_descriptor",
        "field_type",
        "full_name",
        "name",
        "tags",
    ]

    def __init__(
        self,
        containing_message: Any,
        full_name: str,
        name: str,
        field_type: FieldType,
        tags: set[str],
        field_descriptor: Any = None,
    ) -> None:
        self.containing_message = containing_message
        self.full_name = full_name
        self.name = name
        self.field_type = field_type
        self.tags = tags
        self.field_descriptor = field_descriptor

    def is_primitive(self) -> bool:
        """Return whether the field has no fields or items."""
        return self.field_type in _PRIMITIVE

    def type_name(self) -> str:
        """Return the name of the field's type."""
        return self.field_type.name


class RuleContext:
    """A rule, the value that it is applied to, and the field that it has reached."""

    __slots__ = [
        "_field_contexts",
        "enabled_env",
        "field_transformer",
        "index",
        "inline_tags",
        "original_key",
        "original_value",
        "rule",
        "rule_mode",
        "rules",
        "ser_ctx",
        "source",
        "subject",
        "target",
    ]

    def __init__(
        self,
        enabled_env: str | None,
        ser_ctx: SerializationContext,
        source: Schema | None,
        target: Schema | None,
        subject: str,
        rule_mode: RuleMode,
        rule: Rule,
        index: int,
        rules: list[Rule],
        inline_tags: dict[str, set[str]] | None,
        field_transformer: Any,
        original_key: Any = None,
        original_value: Any = None,
    ) -> None:
        self.enabled_env = enabled_env
        self.ser_ctx = ser_ctx
        self.source = source
        self.target = target
        self.subject = subject
        self.rule_mode = rule_mode
        self.rule = rule
        self.index = index
        self.rules = rules
        self.inline_tags = inline_tags
        self.field_transformer = field_transformer
        self.original_key = original_key
        self.original_value = original_value
        self._field_contexts: list[FieldContext] = []

    def get_parameter(self, name: str) -> str | None:
        """Return a parameter of the rule, or else a property of the schema."""
        if self.rule.params is not None:
            value = self.rule.params.params.get(name)
            if value is not None:
                return value
        metadata = None if self.target is None else self.target.metadata
        if metadata is None or metadata.properties is None:
            return None
        return metadata.properties.properties.get(name)

    def current_field(self) -> FieldContext | None:
        """Return the field that the rule has reached, or None."""
        return self._field_contexts[-1] if self._field_contexts else None

    def enter_field(
        self,
        containing_message: Any,
        full_name: str,
        name: str,
        field_type: FieldType,
        tags: set[str] | None,
        field_descriptor: Any = None,
    ) -> FieldContext:
        """Go to a field. Its tags are its own and those of the schema's metadata."""
        own = (self.inline_tags or {}).get(full_name, ()) if tags is None else tags
        found = set(own) | self.get_tags(full_name)
        field = FieldContext(
            containing_message, full_name, name, field_type, found, field_descriptor
        )
        self._field_contexts.append(field)
        return field

    def get_tags(self, full_name: str) -> set[str]:
        """Return the tags that the schema's metadata gives to a field."""
        metadata = None if self.target is None else self.target.metadata
        if metadata is None or metadata.tags is None:
            return set()
        tags = metadata.tags.tags.items()
        return {tag for pattern, some in tags if wildcard_match(full_name, pattern) for tag in some}

    def exit_field(self) -> None:
        """Go back to the field around it."""
        if self._field_contexts:
            self._field_contexts.pop()


FieldTransform: TypeAlias = Callable[[RuleContext, FieldContext, Any], Any]
FieldTransformer: TypeAlias = Callable[[RuleContext, FieldTransform, Any], Any]
