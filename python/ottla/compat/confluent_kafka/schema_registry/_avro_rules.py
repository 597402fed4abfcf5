"""Rules on values of Avro: a walk over a value with its schema, to transform or check it."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._avro_schema import AvroSchema
from ottla.compat.confluent_kafka.schema_registry._rule_classes import RuleConditionError
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
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

_CONTAINERS: dict[str, type[Any]] = {"array": list, "map": dict, "record": dict}
_TYPES = {kind.value.lower(): kind for kind in FieldType if kind != FieldType.COMBINED}


def get_type(schema: Any) -> FieldType:
    """Return the type of a field with a schema."""
    if isinstance(schema, list):
        return FieldType.COMBINED
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if kind == "union":
        return FieldType.COMBINED
    return _TYPES.get(kind, FieldType.NULL) if isinstance(kind, str) else FieldType.NULL


def transform(ctx: RuleContext, schema: Any, message: Any, field_transform: FieldTransform) -> Any:
    """Return a value with a rule applied to its fields; records are changed in place.

    A null of a union is passed to the rule, too, as it may have a condition about null.
    """
    field = ctx.current_field()
    if field is not None:
        field.field_type = get_type(schema)
    if isinstance(schema, list):
        return _transform_union(ctx, schema, message, field_transform)
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, str) and kind in _CONTAINERS:
        if kind == "record" and message is None:
            return message
        if not isinstance(message, _CONTAINERS[kind]):
            log.warning("a value is not of the type %s that its schema says", kind)
            return message
        if kind == "array":
            items = schema["items"]
            return [transform(ctx, items, item, field_transform) for item in message]
        if kind == "map":
            values = schema["values"]
            return {
                key: transform(ctx, values, value, field_transform)
                for key, value in message.items()
            }
        for item in schema["fields"]:
            if item["name"] in message:
                _transform_field(ctx, schema, item, message, field_transform)
        return message
    if field is not None and (not ctx.rule.tags or field.tags & set(ctx.rule.tags)):
        return field_transform(ctx, field, message)
    return message


def _transform_union(
    ctx: RuleContext, schema: list[Any], message: Any, field_transform: FieldTransform
) -> Any:
    branch, value = _resolve_union(schema, message)
    if branch is None:
        return message
    result = transform(ctx, branch, value, field_transform)
    if _is_pair(message) and _accepts(branch, result):
        # The name stays with the value as long as its type holds it; else the value decides.
        return (message[0], result)
    return result


def _transform_field(
    ctx: RuleContext,
    schema: dict[str, Any],
    field: dict[str, Any],
    message: dict[str, Any],
    field_transform: FieldTransform,
) -> None:
    name, field_schema = field["name"], field["type"]
    try:
        ctx.enter_field(message, f"{schema['name']}.{name}", name, get_type(field_schema), None)
        result = transform(ctx, field_schema, message[name], field_transform)
        if ctx.rule.kind != RuleKind.CONDITION:
            message[name] = result
        elif result is False:
            raise RuleConditionError(ctx.rule)
    finally:
        ctx.exit_field()


def _is_pair(message: Any) -> bool:
    return isinstance(message, tuple) and len(message) == 2


def _resolve_union(schema: list[Any], message: Any) -> tuple[Any, Any]:
    """Return the type of a union that a value has, and the value without the type's name."""
    name, value = None, message
    if _is_pair(message):
        name, value = message
    elif isinstance(message, dict) and "-type" in message:
        name = message["-type"]
    if name is not None:
        # A full name decides; a simple one only where the schema inherits the namespace.
        for matches in (_is_named, _is_simply_named):
            for branch in schema:
                if matches(branch, name):
                    return branch, value
        return None, message
    for branch in schema:
        if _accepts(branch, message):
            return branch, message
    return None, message


def _is_named(branch: Any, name: str) -> bool:
    if isinstance(branch, str):
        return branch == name
    if not isinstance(branch, dict) or branch.get("name") is None:
        return False
    space = branch.get("namespace")
    return bool(name == (f"{space}.{branch['name']}" if space else branch["name"]))


def _is_simply_named(branch: Any, name: str) -> bool:
    if not isinstance(branch, dict) or branch.get("name") is None or branch.get("namespace"):
        return False
    return "." not in branch["name"] and name.rpartition(".")[2] == branch["name"]


def _accepts(schema: Any, message: Any) -> bool:
    from fastavro import validate

    try:
        validate(message, _collapse_schema(deepcopy(schema), set()))
    except Exception:  # noqa: BLE001 - whatever it is, the value is of another type
        return False
    return True


def _collapse_schema(schema: Any, seen: set[str]) -> Any:
    """Define each named type once, and name it elsewhere; the argument is changed."""
    if isinstance(schema, list):
        return [_collapse_schema(item, seen) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind in ("record", "enum", "fixed"):
        name = schema["name"]
        space = schema.get("namespace")
        qualified = f"{space}.{name}" if space and "." not in name else name
        if qualified in seen:
            return name
        seen.add(qualified)
        for alias in schema.get("aliases") or []:
            seen.add(f"{space}.{alias}" if space and "." not in alias else alias)
        for field in schema.get("fields") or []:
            field["type"] = _collapse_schema(field["type"], seen)
    elif kind in ("array", "map"):
        key = "items" if kind == "array" else "values"
        schema[key] = _collapse_schema(schema[key], seen)
    else:
        schema["type"] = _collapse_schema(kind, seen)
    return schema


def get_inline_tags(schema: AvroSchema | None) -> dict[str, set[str]]:
    """Return the tags that a schema's text gives to fields, by their full names."""
    tags: dict[str, set[str]] = defaultdict(set)
    _collect_tags("", schema, tags)
    return tags


def _collect_tags(space: str, schema: Any, tags: dict[str, set[str]]) -> None:
    if isinstance(schema, list):
        for item in schema:
            _collect_tags(space, item, tags)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind in ("array", "map"):
        _collect_tags(space, schema.get("items" if kind == "array" else "values"), tags)
    elif kind == "record" and schema.get("name") is not None:
        name = schema["name"]
        if "." in name:
            space = name.rpartition(".")[0]
        else:
            space = schema.get("namespace", space)
            name = f"{space}.{name}" if space else name
        for field in schema["fields"]:
            own = field.get("confluent:tags")
            if own is not None and field.get("name") is not None:
                tags[f"{name}.{field['name']}"].update(own)
            _collect_tags(space, field.get("type"), tags)


def validate_message(
    executor: ValidationRuleExecutor | None,
    schema: AvroSchema | None,
    message: Any,
    fail_fast: bool = False,
) -> list[ValidationRuleError]:
    """Return the conditions of a schema's own rules that a value does not meet."""
    if executor is None or schema is None or message is None:
        return []
    return collected(_violations(executor, schema, message, ""), fail_fast)


def _violations(
    executor: ValidationRuleExecutor, schema: Any, message: Any, path: str
) -> Iterator[ValidationRuleError]:
    if isinstance(schema, list):
        branch, value = (None, None) if message is None else _resolve_union(schema, message)
        if branch is not None and branch != "null":
            yield from _violations(executor, branch, value, path)
        return
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array" and isinstance(message, list):
        for index, item in enumerate(message):
            yield from _violations(executor, schema["items"], item, f"{path}[{index}]")
    elif kind == "map" and isinstance(message, dict):
        for key, value in message.items():
            yield from _violations(executor, schema["values"], value, f'{path}["{key}"]')
    elif kind == "record" and isinstance(message, dict):
        rules = parse_validation_rules(schema.get(VALIDATION_RULES_PROP))
        yield from violations_of(executor, rules, schema, message, path)
        for field in schema["fields"]:
            value = message.get(field["name"])
            inner = f"{path}.{field['name']}" if path else field["name"]
            if value is not None:
                rules = parse_validation_rules(field.get(VALIDATION_RULES_PROP))
                yield from violations_of(executor, rules, field["type"], value, inner)
            yield from _violations(executor, field["type"], value, inner)
