"""Rules on values of JSON: a walk over a value with its schema, to transform or check it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeAlias

from ottla.compat.confluent_kafka.schema_registry._rule_classes import RuleConditionError
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldContext,
    FieldTransform,
    FieldType,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleKind
from ottla.compat.confluent_kafka.schema_registry._validation import (
    VALIDATION_RULES_PROP,
    ValidationRuleError,
    ValidationRuleExecutor,
    collected,
    parse_validation_rules,
    violations_of,
)

log = logging.getLogger(__name__)

JsonSchema: TypeAlias = bool | dict[str, Any]
JsonMessage: TypeAlias = str | float | int | Decimal | bool | list[Any] | dict[str, Any] | None

_TYPES = {
    "array": FieldType.ARRAY,
    "string": FieldType.STRING,
    "integer": FieldType.INT,
    "number": FieldType.DOUBLE,
    "boolean": FieldType.BOOLEAN,
    "null": FieldType.NULL,
}
_LEAVES = frozenset(
    {FieldType.ENUM, FieldType.STRING, FieldType.INT, FieldType.DOUBLE, FieldType.BOOLEAN}
)


def get_type(schema: JsonSchema) -> FieldType:
    """Return the type of a property with a schema."""
    if isinstance(schema, bool):
        return FieldType.COMBINED
    kind = schema.get("type")
    if schema.get("const") is not None or schema.get("enum") is not None:
        return FieldType.ENUM
    if kind == "object":
        return FieldType.RECORD if schema.get("properties") else FieldType.MAP
    if isinstance(kind, str) and kind in _TYPES:
        return _TYPES[kind]
    return FieldType.RECORD if schema.get("properties") is not None else FieldType.NULL


def get_inline_tags(schema: dict[str, Any]) -> set[str]:
    """Return the tags that a schema's text gives to a property."""
    return set(schema.get("confluent:tags") or ())


def transform(
    ctx: RuleContext,
    schema: JsonSchema,
    ref_registry: Any,
    ref_resolver: Any,
    path: str,
    message: Any,
    field_transform: FieldTransform,
) -> Any:
    """Return a value with a rule applied to its properties; objects are changed in place."""
    if message is None or isinstance(schema, bool):
        return message

    def visit(inner: JsonSchema, resolver: Any, value: Any) -> Any:
        return transform(ctx, inner, ref_registry, resolver, path, value, field_transform)

    def visit_properties() -> None:
        for name, inner in (schema.get("properties") or {}).items():
            if isinstance(inner, dict):
                _transform_property(
                    ctx, path, name, message, inner, ref_registry, ref_resolver, field_transform
                )

    field = ctx.current_field()
    if field is not None:
        field.field_type = get_type(schema)
    narrowed = _narrowed(schema, message, ref_registry, ref_resolver)
    if narrowed is not None:
        return visit(narrowed, ref_resolver, message)
    branches = _branches(schema, message, ref_registry, ref_resolver)
    items = schema.get("items")
    if branches is not None:
        for branch, resolver in branches:
            message = visit(branch, resolver, message)
        if isinstance(message, dict):
            visit_properties()
        if items is not None and isinstance(message, list):
            message = [visit(items, ref_resolver, item) for item in message]
        return message
    if items is not None and isinstance(message, list):
        return [visit(items, ref_resolver, item) for item in message]
    if schema.get("$ref") is not None:
        # The resolver of the referenced schema knows where its own references point to.
        found = ref_resolver.lookup(schema["$ref"])
        return visit(found.contents, found.resolver, message)
    kind = get_type(schema)
    if kind == FieldType.RECORD:
        if isinstance(message, dict):
            visit_properties()
        else:
            log.warning("a value is not of the type object that its schema says")
    elif kind in _LEAVES and field is not None and _applies(ctx, field):
        return field_transform(ctx, field, message)
    return message


def _applies(ctx: RuleContext, field: FieldContext) -> bool:
    return not ctx.rule.tags or bool(field.tags & set(ctx.rule.tags))


def _transform_property(
    ctx: RuleContext,
    path: str,
    name: str,
    message: dict[str, Any],
    schema: dict[str, Any],
    ref_registry: Any,
    ref_resolver: Any,
    field_transform: FieldTransform,
) -> None:
    full_name = f"{path}.{name}"
    try:
        ctx.enter_field(message, full_name, name, get_type(schema), get_inline_tags(schema))
        value = message.get(name)
        if value is None:
            return
        result = transform(
            ctx, schema, ref_registry, ref_resolver, full_name, value, field_transform
        )
        if ctx.rule.kind != RuleKind.CONDITION:
            message[name] = result
        elif result is False:
            raise RuleConditionError(ctx.rule)
    finally:
        ctx.exit_field()


def _is_valid(message: Any, schema: Any, registry: Any, resolver: Any = None) -> bool:
    from jsonschema import ValidationError
    from jsonschema.validators import validator_for
    from referencing.exceptions import Unresolvable

    validator = validator_for(schema)
    arguments = {} if resolver is None else {"_resolver": resolver}
    try:
        validator(schema, registry=registry, **arguments).validate(message)
    except (ValidationError, Unresolvable):
        return False
    return True


def _narrowed(schema: dict[str, Any], message: Any, registry: Any, resolver: Any) -> Any:
    """Return a schema of several types with the one that the value has, or None."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return None
    for kind in kinds:
        # The parsed schema belongs to all threads, so it is not changed.
        candidate = {**schema, "type": kind}
        if _is_valid(message, candidate, registry, resolver):
            return candidate
    return None


def _branches(
    schema: dict[str, Any], message: Any, registry: Any, resolver: Any
) -> list[tuple[Any, Any]] | None:
    """Return the schemas of a combination that a value meets, or None if there is none."""
    all_of, one_of, any_of = (schema.get(key) for key in ("allOf", "oneOf", "anyOf"))
    if all_of is not None:
        return [(branch, resolver) for branch in all_of]
    if one_of is None and any_of is None:
        return None
    found = []
    for branch in one_of if one_of is not None else any_of or []:
        if not isinstance(branch, dict):
            continue
        inner = resolver
        if branch.get("$ref") is not None:
            resolved = resolver.lookup(branch["$ref"])
            branch, inner = resolved.contents, resolved.resolver
        if _is_valid(message, branch, registry, inner):
            found.append((branch, inner))
            if one_of is not None:
                break
    return found


def validate_message(
    executor: ValidationRuleExecutor | None,
    schema: JsonSchema | None,
    ref_registry: Any,
    ref_resolver: Any,
    message: Any,
    fail_fast: bool = False,
) -> list[ValidationRuleError]:
    """Return the conditions of a schema's own rules that a value does not meet."""
    if executor is None or schema is None or message is None:
        return []
    found = _violations(executor, schema, ref_registry, ref_resolver, "$", message)
    return collected(found, fail_fast)


def _violations(
    executor: ValidationRuleExecutor,
    schema: JsonSchema,
    registry: Any,
    resolver: Any,
    path: str,
    message: Any,
) -> Iterator[ValidationRuleError]:
    if message is None or isinstance(schema, bool):
        return
    if isinstance(schema.get("type"), list) and schema["type"]:
        narrowed = _narrowed(schema, message, registry, resolver)
        if narrowed is not None:
            yield from _violations(executor, narrowed, registry, resolver, path, message)
        return
    branches = _branches(schema, message, registry, resolver)
    for branch, inner in branches or []:
        yield from _violations(executor, branch, registry, inner, path, message)
    items = schema.get("items")
    if items is not None and isinstance(message, list):
        for index, item in enumerate(message):
            place = f"{path}[{index}]"
            yield from _violations(executor, items, registry, resolver, place, item)
    elif branches is None and schema.get("$ref") is not None:
        found = resolver.lookup(schema["$ref"])
        yield from _violations(executor, found.contents, registry, found.resolver, path, message)
        return
    if not isinstance(message, dict):
        return
    rules = parse_validation_rules(schema.get(VALIDATION_RULES_PROP))
    yield from violations_of(executor, rules, schema, message, path)
    for name, inner in (schema.get("properties") or {}).items():
        if not isinstance(inner, dict) or message.get(name) is None:
            continue
        place, value = f"{path}.{name}", message[name]
        rules = parse_validation_rules(inner.get(VALIDATION_RULES_PROP))
        yield from violations_of(executor, rules, inner, value, place)
        yield from _violations(executor, inner, registry, resolver, place, value)
