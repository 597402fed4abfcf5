"""Rules on messages of Protobuf: the walk over a message with its schema's descriptor.

A message's class and the registered schema are two descriptors of it. They are compared by the
numbers of fields, since a field may be renamed; names and tags are those of the schema, and values
are read and written by the class.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._protobuf_confluent import META, file_named
from ottla.compat.confluent_kafka.schema_registry._protobuf_decimal import decimal_of
from ottla.compat.confluent_kafka.schema_registry._rule_classes import (
    RuleConditionError,
    RuleError,
)
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldTransform,
    FieldType,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleKind
from ottla.compat.confluent_kafka.schema_registry._validation import (
    ValidationRule,
    ValidationRuleError,
    ValidationRuleExecutor,
    collected,
    violations_of,
)
from ottla.compat.confluent_kafka.serialization import SerializationError

_DECIMAL = "confluent.type.Decimal"
_TIMESTAMP = "google.protobuf.Timestamp"
_TYPES = {
    "ENUM": FieldType.ENUM,
    "STRING": FieldType.STRING,
    "BYTES": FieldType.BYTES,
    "FLOAT": FieldType.FLOAT,
    "DOUBLE": FieldType.DOUBLE,
    "BOOL": FieldType.BOOLEAN,
}


def _extension(name: str) -> Any:
    return file_named(META).extensions_by_name[name]


def _is_message(field: Any) -> bool:
    return bool(field.type == field.TYPE_MESSAGE)


def is_map_field(fd: Any) -> bool:
    """Return whether a field is a map."""
    return _is_message(fd) and bool(fd.message_type.GetOptions().map_entry)


def _is_repeated(fd: Any) -> bool:
    # ``label`` is gone from version 7 of the library; older ones lack ``is_repeated``.
    repeated = getattr(fd, "is_repeated", None)
    return bool(fd.label == fd.LABEL_REPEATED if repeated is None else repeated)


def _is_leaf(message_type: Any) -> bool:
    # Decimals and timestamps are single values for a rule, as they are in Avro.
    return message_type is not None and message_type.full_name in (_DECIMAL, _TIMESTAMP)


def get_type(fd: Any) -> FieldType:
    """Return the type of a field."""
    if is_map_field(fd):
        return FieldType.MAP
    if _is_message(fd):
        if _is_leaf(fd.message_type):
            is_decimal = fd.message_type.full_name == _DECIMAL
            return FieldType.BYTES if is_decimal else FieldType.LONG
        return FieldType.RECORD
    for name, kind in _TYPES.items():
        if fd.type == getattr(fd, f"TYPE_{name}"):
            return kind
    if fd.cpp_type in (fd.CPPTYPE_INT32, fd.CPPTYPE_UINT32):
        return FieldType.INT
    if fd.cpp_type in (fd.CPPTYPE_INT64, fd.CPPTYPE_UINT64):
        return FieldType.LONG
    return FieldType.NULL


def get_inline_tags(fd: Any) -> set[str]:
    """Return the tags that a schema's text gives to a field."""
    return set(fd.GetOptions().Extensions[_extension("field_meta")].tags)


def transform(
    ctx: RuleContext, descriptor: Any, message: Any, field_transform: FieldTransform
) -> Any:
    """Return a message with a rule applied to its fields; it is changed in place."""
    from google.protobuf.message import Message

    if message is None or descriptor is None:
        return message
    if isinstance(message, list):
        return [transform(ctx, descriptor, item, field_transform) for item in message]
    if isinstance(message, dict):
        return {
            key: transform(ctx, descriptor, value, field_transform)
            for key, value in message.items()
        }
    if isinstance(message, Message) and not _is_leaf(message.DESCRIPTOR):
        for fd in message.DESCRIPTOR.fields:
            own = descriptor.fields_by_number.get(fd.number)
            if own is not None:
                _transform_field(ctx, fd, own, descriptor, message, field_transform)
        return message
    field = ctx.current_field()
    if field is not None and (not ctx.rule.tags or field.tags & set(ctx.rule.tags)):
        return field_transform(ctx, field, message)
    return message


def _transform_field(
    ctx: RuleContext,
    fd: Any,
    own: Any,
    descriptor: Any,
    message: Any,
    field_transform: FieldTransform,
) -> None:
    try:
        ctx.enter_field(message, own.full_name, own.name, get_type(fd), get_inline_tags(own), fd)
        if fd.has_presence and not message.HasField(fd.name):
            # There is no value; writing one would make the field present.
            return
        value = getattr(message, fd.name)
        if is_map_field(fd):
            value = dict(value)
        elif _is_repeated(fd):
            value = list(value)
        result = transform(ctx, _inner(own, descriptor), value, field_transform)
        if ctx.rule.kind != RuleKind.CONDITION:
            _set_field(fd, message, result)
        elif result is False:
            raise RuleConditionError(ctx.rule)
    finally:
        ctx.exit_field()


def _inner(field: Any, descriptor: Any) -> Any:
    if not _is_message(field):
        return descriptor
    if is_map_field(field):
        value = field.message_type.fields_by_name["value"]
        return value.message_type if _is_message(value) else descriptor
    return field.message_type


def _set_field(fd: Any, message: Any, value: Any) -> None:
    from google.protobuf.message import Message

    if _is_message(fd) and _is_leaf(fd.message_type):
        rebuild = [_leaf(fd, item) for item in value] if _is_repeated(fd) else _leaf(fd, value)
        value = rebuild
    if isinstance(value, list):
        message.ClearField(fd.name)
        getattr(message, fd.name).extend(value)
    elif isinstance(value, dict):
        entries = getattr(message, fd.name)
        if any(isinstance(item, Message) for item in value.values()):
            for key, item in value.items():
                entries[key].CopyFrom(item)
        else:
            message.ClearField(fd.name)
            getattr(message, fd.name).update(value)
    elif isinstance(value, Message):
        getattr(message, fd.name).CopyFrom(value)
    else:
        setattr(message, fd.name, value)


def _leaf(fd: Any, value: Any) -> Any:
    """Return the message of a decimal or a time that a rule has returned."""
    from google.protobuf.message import Message
    from google.protobuf.message_factory import GetMessageClass

    kind = fd.message_type
    for candidate in (value, getattr(value, "msg", None)):
        if isinstance(candidate, Message) and candidate.DESCRIPTOR.full_name == kind.full_name:
            return candidate
    result = GetMessageClass(kind)()
    if kind.full_name == _DECIMAL and isinstance(value, Decimal):
        result.ParseFromString(decimal_of(value).SerializeToString())
        return result
    if kind.full_name == _TIMESTAMP and isinstance(value, dt.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
        result.FromDatetime(moment)
        return result
    name = type(value).__name__
    raise RuleError(f"Rule returned {name} for field '{fd.full_name}', a {kind.full_name}")


def validate_message(
    executor: ValidationRuleExecutor | None, descriptor: Any, message: Any, fail_fast: bool = False
) -> list[ValidationRuleError]:
    """Return the conditions of a schema's own rules that a message does not meet."""
    if executor is None or descriptor is None or message is None:
        return []
    seen = message
    if message.DESCRIPTOR is not descriptor:
        seen = _read_as(descriptor, message)
    return collected(_violations(executor, message, seen, ""), fail_fast)


def _read_as(descriptor: Any, message: Any) -> Any:
    # Conditions name the schema's fields, so they see the message as the schema describes it.
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    seen = GetMessageClass(descriptor)()
    try:
        seen.ParseFromString(message.SerializeToString())
    except (DecodeError, UnicodeDecodeError) as error:
        raise SerializationError(
            f"{descriptor.full_name} cannot be read by its registered schema: {error}"
        ) from error
    return seen


def _rules(options: Any, extension: str) -> list[ValidationRule]:
    field = _extension(extension)
    if not options.HasExtension(field):
        return []
    rules = options.Extensions[field].rules
    return [ValidationRule(rule.name, rule.doc, rule.expr, rule.sql) for rule in rules]


def _violations(
    executor: ValidationRuleExecutor, message: Any, seen: Any, path: str
) -> Iterator[ValidationRuleError]:
    descriptor = seen.DESCRIPTOR
    rules = _rules(descriptor.GetOptions(), "message_meta")
    yield from violations_of(executor, rules, descriptor, seen, path)
    for fd in message.DESCRIPTOR.fields:
        own = descriptor.fields_by_number.get(fd.number)
        if own is None or (fd.has_presence and not message.HasField(fd.name)):
            continue
        place = f"{path}.{own.name}" if path else own.name
        value, view = getattr(message, fd.name), getattr(seen, own.name)
        yield from violations_of(executor, _rules(own.GetOptions(), "field_meta"), own, view, place)
        if not (_is_message(fd) and _is_message(own)):
            continue
        if is_map_field(fd):
            if _is_message(fd.message_type.fields_by_name["value"]):
                for key, item in value.items():
                    yield from _violations(executor, item, view[key], f'{place}["{key}"]')
        elif _is_repeated(fd):
            for index, (item, other) in enumerate(zip(value, view, strict=False)):
                yield from _violations(executor, item, other, f"{place}[{index}]")
        else:
            yield from _violations(executor, value, view, place)
