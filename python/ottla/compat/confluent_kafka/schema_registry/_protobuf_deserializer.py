"""The deserializer of Protobuf as steps, for both twins.

The application's generated class reads the payload; the registry's schemas are needed for rules,
and to check which message it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._deserializer_core import (
    DESERIALIZER_DEFAULTS,
    DeserializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._protobuf_file import (
    ProtobufSchemas,
    refuse_deprecated_format,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_rules import transform
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import PROTOBUF_TYPE
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import RegisteredSchema
from ottla.compat.confluent_kafka.schema_registry._schema_id import SchemaId
from ottla.compat.confluent_kafka.schema_registry._serde_core import refuse_rest
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext, SerializationError


class ProtobufDeserializerSteps(ProtobufSchemas, DeserializerCore):
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
        refuse_deprecated_format(rest)
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
