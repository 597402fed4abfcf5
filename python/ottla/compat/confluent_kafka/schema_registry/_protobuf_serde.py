"""Serializer and deserializer of Protobuf as steps, for both twins.

Payloads are written and read by the application's generated class; the registry's schemas are
needed for their ids, for rules, and for the place of a message in its file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._deserializer_core import (
    DESERIALIZER_DEFAULTS,
    DeserializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._protobuf_rules import (
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import (
    PROTOBUF_TYPE,
    _create_index_array,
    _is_builtin,
    _schema_to_str,
    load_file,
    message_at,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
    SchemaReference,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import (
    SchemaId,
    encode_indexes,
)
from ottla.compat.confluent_kafka.schema_registry._serde_core import (
    refuse_rest,
    take_callable,
    take_flag,
)
from ottla.compat.confluent_kafka.schema_registry._serializer_core import (
    SERIALIZER_DEFAULTS,
    SerializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._strategies import (
    reference_subject_name_strategy,
)
from ottla.compat.confluent_kafka.schema_registry._validation import ValidationRulesExecution
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext, SerializationError


class _File:
    """A schema's file, and its messages by their places."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self._messages: dict[tuple[int, ...], Any] = {}

    def message_at(self, indexes: Sequence[int]) -> Any:
        """Return the message at a place; only those that exist are kept."""
        key = tuple(indexes)
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = message_at(self.file, key)
        return message

    def named_as(self, writer: Any) -> Any:
        """Return the message of the same name as the writer's, or the first one."""
        found = self.file.message_types_by_name.get(writer.name)
        return self.message_at([0]) if found is None else found


class _ProtobufSchemas:
    """The files of a serializer or deserializer."""

    _registry: Any
    _parsed_schemas: ParsedSchemaCache

    def _parse(self, schema: Schema) -> Steps[_File]:
        known: _File | None = self._parsed_schemas.get_parsed_schema(schema)
        if known is None:
            known = _File((yield from load_file(schema, self._registry)))
            self._parsed_schemas.set(schema, known)
        return known


def _refuse_deprecated_format(conf: dict[str, Any]) -> None:
    if take_flag(conf, "use.deprecated.format"):
        raise ValueError("use.deprecated.format is no longer supported")


class ProtobufSerializerSteps(_ProtobufSchemas, SerializerCore):
    """The serializer of Protobuf."""

    _schema_type = PROTOBUF_TYPE
    _default_conf: ClassVar[dict[str, Any]] = {
        **SERIALIZER_DEFAULTS,
        "skip.known.types": True,
        "reference.subject.name.strategy": reference_subject_name_strategy,
        "use.deprecated.format": False,
    }

    def _set_up(
        self,
        msg_type: Any,
        registry: Any,
        conf: dict[str, Any] | None,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
    ) -> Steps[None]:
        yield from ()
        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        rest = self._default_conf | (conf or {})
        self._configure_serializer(rest)
        self._skip_known_types = take_flag(rest, "skip.known.types")
        _refuse_deprecated_format(rest)
        self._reference_subject = take_callable(rest, "reference.subject.name.strategy")
        refuse_rest(rest)
        self._msg_class = msg_type
        descriptor = msg_type.DESCRIPTOR
        self._index_array = _create_index_array(descriptor)
        self._schema = Schema(_schema_to_str(descriptor.file), schema_type=PROTOBUF_TYPE)
        self._configure_rules(rule_conf, rule_registry)

    def _indexes(self) -> list[int] | None:
        return self._index_array

    @staticmethod
    def _encode_varints(buf: Any, ints: list[int], zigzag: bool = True) -> None:
        buf.write(encode_indexes(ints, zigzag))

    def _own_schema(self, ctx: SerializationContext | None) -> Steps[Schema]:
        references = yield from self._references(ctx, self._msg_class.DESCRIPTOR.file)
        return Schema(self._schema.schema_str, PROTOBUF_TYPE, references)

    def _references(
        self, ctx: SerializationContext | None, file: Any
    ) -> Steps[list[SchemaReference]]:
        """Register the files that a file imports, or look them up."""
        references = []
        for imported in file.dependencies:
            if self._skip_known_types and _is_builtin(imported.name):
                continue
            inner = yield from self._references(ctx, imported)
            subject = yield self._reference_subject(ctx, imported)
            schema = Schema(_schema_to_str(imported), PROTOBUF_TYPE, inner)
            if self._auto_register:
                yield self._registry.register_schema(
                    subject, schema, normalize_schemas=self._normalize_schemas
                )
            registered = yield self._registry.lookup_schema(
                subject, schema, normalize_schemas=self._normalize_schemas
            )
            references.append(SchemaReference(imported.name, subject, registered.version))
        return references

    def _serialize_value(self, obj: Any, ctx: SerializationContext | None) -> Steps[bytes]:
        data = self._encode(obj)
        subject = None
        if ctx is not None:
            subject = yield from self._subject(ctx, obj.DESCRIPTOR.full_name)
        latest: RegisteredSchema | None = None
        if subject is not None and self._has_reader_schema():
            latest = yield from self._get_reader_schema(subject, fmt="serialized")
        if latest is None:
            schema_id = yield from self._registered_id(subject, ctx)
            if self._validation_enabled():
                self._check(obj.DESCRIPTOR, obj)
        else:
            schema_id = self._id_of(latest)
            file = yield from self._parse(latest.schema)
            obj = self._apply_rules(ctx, subject, latest, file, obj)
        if latest is not None and subject is not None:
            data = self._encoding_rules(ctx, subject, latest, self._encode(obj))
        elif ctx is not None and schema_id is not None:
            self._keep_plain(ctx, schema_id, self._encode)
        return self._schema_id_serializer(data, ctx, schema_id)

    def _encode(self, obj: Any) -> bytes:
        if not isinstance(obj, self._msg_class):
            raise ValueError(f"message must be of type {self._msg_class} not {type(obj)}")
        data: bytes = obj.SerializeToString()
        return data

    def _apply_rules(
        self,
        ctx: SerializationContext | None,
        subject: str | None,
        latest: RegisteredSchema,
        file: _File,
        obj: Any,
    ) -> Any:
        if latest.schema.rule_set is None and not self._validation_enabled():
            return obj
        descriptor = file.message_at(self._index_array)
        if self._validation_enabled(ValidationRulesExecution.BEFORE_DOMAIN_RULES):
            self._check(descriptor, obj)
        if ctx is not None and subject is not None:
            obj = self._execute_rules(
                ctx,
                subject,
                RuleMode.WRITE,
                None,
                latest.schema,
                obj,
                None,
                lambda rule_ctx, change, message: transform(rule_ctx, descriptor, message, change),
            )
        if self._validation_enabled(ValidationRulesExecution.AFTER_DOMAIN_RULES):
            self._check(descriptor, obj)
        return obj

    def _check(self, descriptor: Any, obj: Any) -> None:
        executor, fail_fast = self._validation_rule_executor, self._validation_rules_fail_fast
        self._raise_validation_violations(validate_message(executor, descriptor, obj, fail_fast))


class ProtobufDeserializerSteps(_ProtobufSchemas, DeserializerCore):
    """The deserializer of Protobuf."""

    _schema_type = PROTOBUF_TYPE
    # A byte, an id, and the index of the first message.
    _prefix_length = 6
    _default_conf: ClassVar[dict[str, Any]] = {
        **DESERIALIZER_DEFAULTS,
        "use.deprecated.format": False,
    }

    def _set_up(
        self,
        message_type: Any,
        conf: dict[str, Any] | None,
        registry: Any,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
    ) -> Steps[None]:
        yield from ()
        from google.protobuf.message_factory import GetMessageClass

        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        rest = self._default_conf | (conf or {})
        self._configure_deserializer(rest)
        _refuse_deprecated_format(rest)
        refuse_rest(rest)
        self._msg_class = GetMessageClass(message_type.DESCRIPTOR)
        self._configure_rules(rule_conf, rule_registry)

    def _keep_plain(
        self, data: bytes, ctx: SerializationContext, decode: Callable[[bytes], Any]
    ) -> None:
        # Other messages have more indexes, and are no longer told apart by these bytes.
        if data[5:6] == b"\x00":
            super()._keep_plain(data, ctx, decode)

    def _deserialize_value(self, data: bytes, ctx: SerializationContext | None) -> Steps[Any]:
        subject = None if ctx is None else (yield from self._subject(ctx, None))
        latest: RegisteredSchema | None = None
        asks = self._registry is not None and self._has_reader_schema()
        if subject is not None and asks:
            latest = yield from self._get_reader_schema(subject, fmt="serialized")
        schema_id = SchemaId(PROTOBUF_TYPE)
        payload = self._split(data, ctx, schema_id)
        if self._registry is None:
            return _parsed(self._msg_class, payload)
        writer_schema = yield from self._writer_schema(schema_id, subject, fmt="serialized")
        writer_file = yield from self._parse(writer_schema)
        writer = writer_file.message_at(schema_id.message_indexes or [0])
        if subject is None and ctx is not None:
            subject = yield from self._subject(ctx, writer.full_name)
            if subject is not None and asks:
                latest = yield from self._get_reader_schema(subject, fmt="serialized")
        payload = self._encoding_rules(ctx, subject, writer_schema, payload, data)
        schema, file, migrations = writer_schema, writer_file, None
        if latest is not None and subject is not None:
            migrations = yield from self._migrations(subject, writer_schema, latest)
            schema = latest.schema
            file = yield from self._parse(schema)
        if migrations and ctx is not None and subject is not None:
            message = self._migrated(
                ctx, subject, migrations, writer, file.named_as(writer), payload
            )
        else:
            message = _parsed(self._msg_class, payload)
        if ctx is not None and writer_schema.rule_set is None and schema.rule_set is None:
            self._keep_plain(data, ctx, partial(_parsed, self._msg_class))
        if ctx is None or subject is None or schema.rule_set is None:
            return message
        descriptor = file.named_as(writer)
        return self._execute_rules(
            ctx,
            subject,
            RuleMode.READ,
            None,
            schema,
            message,
            None,
            lambda rule_ctx, change, value: transform(rule_ctx, descriptor, value, change),
            data,
        )

    def _migrated(
        self,
        ctx: SerializationContext,
        subject: str,
        migrations: Any,
        writer: Any,
        reader: Any,
        payload: bytes,
    ) -> Any:
        from google.protobuf import json_format
        from google.protobuf.message_factory import GetMessageClass

        message = _parsed(GetMessageClass(writer), payload)
        # Rules of migrations change values of JSON.
        value = json_format.MessageToDict(message, True)
        value = self._execute_migrations(ctx, subject, migrations, value)
        return json_format.ParseDict(value, GetMessageClass(reader)())


def _parsed(message_class: Any, payload: bytes) -> Any:
    from google.protobuf.message import DecodeError

    message = message_class()
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise SerializationError(str(error)) from error
    return message
