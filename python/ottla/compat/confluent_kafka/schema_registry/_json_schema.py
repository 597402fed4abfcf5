"""A JSON Schema with the schemas that it refers to, and its validator, made once."""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka.schema_registry._json_rules import (
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldTransform,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._validation import (
    ValidationRuleError,
    ValidationRuleExecutor,
)
from ottla.compat.confluent_kafka.schema_registry.common.json_schema import _json_loads
from ottla.compat.confluent_kafka.serialization import SerializationError


class ParsedJson:
    """A schema, parsed, with the schemas that it refers to."""

    def __init__(self, parsed: Any, references: dict[str, Any]) -> None:
        self.parsed = parsed
        self._references = references
        self._registry: Any = None
        self._validator: Any = None

    def _resources(self) -> Any:
        if self._registry is None:
            from referencing import Registry, Resource
            from referencing.jsonschema import DRAFT7

            self._registry = Registry().with_resources(
                (name, Resource.from_contents(contents, default_specification=DRAFT7))
                for name, contents in self._references.items()
            )
        return self._registry

    def _resolver(self) -> Any:
        from referencing import Resource
        from referencing.jsonschema import DRAFT7

        root = Resource.from_contents(self.parsed, default_specification=DRAFT7)
        return self._resources().resolver_with_root(root)

    def validate(self, value: Any) -> None:
        """Raise a SerializationError if a value does not fit the schema."""
        try:
            from jsonschema import ValidationError
            from jsonschema.validators import validator_for
        except ImportError:
            raise SerializationError(
                "validation needs the jsonschema library: install it, as confluent-kafka[json]"
                " does, or set validate to False"
            ) from None
        if self._validator is None:
            create = validator_for(self.parsed)
            create.check_schema(self.parsed)
            self._validator = create(self.parsed, registry=self._resources())
        try:
            self._validator.validate(value)
        except ValidationError as error:
            raise SerializationError(error.message) from error

    def transformed(self, ctx: RuleContext, change: FieldTransform, message: Any) -> Any:
        """Return a value with a rule applied to its properties."""
        registry, resolver = self._resources(), self._resolver()
        return transform(ctx, self.parsed, registry, resolver, "$", message, change)

    def violations(
        self, executor: ValidationRuleExecutor | None, value: Any, fail_fast: bool
    ) -> list[ValidationRuleError]:
        """Return the conditions of the schema's own rules that a value does not meet."""
        registry, resolver = self._resources(), self._resolver()
        return validate_message(executor, self.parsed, registry, resolver, value, fail_fast)


def load_parsed(schema: Schema, registry: Any) -> Steps[ParsedJson]:
    """Return a schema with those that it refers to."""
    if schema.schema_str is None:
        raise TypeError("Schema string cannot be None")
    references: dict[str, Any] = {}
    yield from _collect(schema, registry, references)
    return ParsedJson(_json_loads(schema.schema_str), references)


def _collect(schema: Schema, registry: Any, found: dict[str, Any]) -> Steps[None]:
    for reference in schema.references or []:
        if reference.subject is None or reference.version is None:
            raise TypeError("Subject or version cannot be None")
        registered = yield registry.get_version(reference.subject, reference.version, True)
        if registered.schema.schema_str is None:
            raise TypeError("Schema string cannot be None")
        if reference.name is None:
            raise TypeError("Name cannot be None")
        if reference.name not in found:
            found[reference.name] = _json_loads(registered.schema.schema_str)
            yield from _collect(registered.schema, registry, found)
