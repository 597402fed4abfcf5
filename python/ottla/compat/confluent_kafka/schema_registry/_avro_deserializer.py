"""The deserializer of Avro as steps, for both twins.

A codec is made once for each pair of a writer's and a reader's schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._avro_codec import decoder
from ottla.compat.confluent_kafka.schema_registry._avro_parsed import (
    AVRO_TYPE,
    AvroSchemas,
    ParsedAvro,
)
from ottla.compat.confluent_kafka.schema_registry._avro_schema import load_text
from ottla.compat.confluent_kafka.schema_registry._deserializer_core import (
    DESERIALIZER_DEFAULTS,
    DeserializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import SchemaId
from ottla.compat.confluent_kafka.schema_registry._serde_core import (
    check_callable,
    refuse_rest,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext, SerializationError


class AvroDeserializerSteps(AvroSchemas, DeserializerCore):
    """The deserializer of Avro."""

    _schema_type = AVRO_TYPE
    _default_conf: ClassVar[dict[str, Any]] = DESERIALIZER_DEFAULTS

    def _plain_decoder(
        self, data: bytes, ctx: SerializationContext | None
    ) -> Callable[[bytes], Any] | None:
        # Such a payload is an error, whatever its schema is.
        return None if len(data) <= 5 else super()._plain_decoder(data, ctx)

    def _set_up(
        self,
        registry: Any,
        schema_str: str | Schema | None,
        from_dict: Callable[..., Any] | None,
        return_record_name: bool,
        conf: dict[str, Any] | None,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
    ) -> Steps[None]:
        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        self._decoders: dict[tuple[ParsedAvro, ParsedAvro | None], Callable[[bytes], Any]] = {}
        if isinstance(schema_str, str):
            schema_str = load_text(schema_str)
        if schema_str is not None and not isinstance(schema_str, Schema):
            raise TypeError("You must pass either schema string or schema object")
        self._schema = schema_str
        rest = self._default_conf | (conf or {})
        self._configure_deserializer(rest)
        refuse_rest(rest)
        self._own = None if schema_str is None else (yield from self._parse(schema_str))
        signature = "from_dict(SerializationContext, dict) -> object"
        self._from_dict = check_callable(from_dict, "from_dict", signature)
        if not isinstance(return_record_name, bool):
            raise ValueError("return_record_name must be a boolean value")
        self._return_record_name = return_record_name
        self._configure_rules(rule_conf, rule_registry)

    def _deserialize_value(self, data: bytes, ctx: SerializationContext | None) -> Steps[Any]:
        if len(data) <= 5:
            # Programs and their tests match this text.
            raise SerializationError(
                "Expecting data framing of length 6 bytes or more but total data size is"
                f" {len(data)} bytes. This message was not produced with a Confluent Schema"
                " Registry serializer"
            )
        subject = None if ctx is None else (yield from self._subject(ctx, None))
        latest: RegisteredSchema | None = None
        if subject is not None and self._has_reader_schema():
            latest = yield from self._get_reader_schema(subject)
        schema_id = SchemaId(AVRO_TYPE)
        payload = self._split(data, ctx, schema_id)
        writer_schema = yield from self._writer_schema(schema_id, subject)
        writer = yield from self._parse(writer_schema)
        if subject is None and ctx is not None and isinstance(writer.parsed, dict):
            subject = yield from self._subject(ctx, writer.parsed.get("name"))
            if subject is not None and self._has_reader_schema():
                latest = yield from self._get_reader_schema(subject)
        payload = self._encoding_rules(ctx, subject, writer_schema, payload, data)

        reader, schema, migrations = writer, writer_schema, None
        if latest is not None and subject is not None:
            migrations = yield from self._migrations(subject, writer_schema, latest)
            schema = latest.schema
            reader = yield from self._parse(schema)
        elif self._own is not None and self._schema is not None:
            reader, schema = self._own, self._schema
        if migrations and ctx is not None and subject is not None:
            value = self._decode(writer, writer, payload)
            value = self._execute_migrations(ctx, subject, migrations, value)
        else:
            value = self._decode(writer, reader, payload)
        if ctx is not None and writer_schema.rule_set is None and schema.rule_set is None:
            self._keep_plain(data, ctx, self._decoder(writer, reader))
        if ctx is not None and subject is not None and schema.rule_set is not None:
            value = self._execute_rules(
                ctx,
                subject,
                RuleMode.READ,
                None,
                schema,
                value,
                reader.tags,
                reader.transformed,
                data,
            )
        return self._from_object(self._from_dict, value, ctx)

    def _decode(self, writer: ParsedAvro, reader: ParsedAvro, payload: bytes) -> Any:
        return self._decoder(writer, reader)(payload)

    def _decoder(self, writer: ParsedAvro, reader: ParsedAvro) -> Callable[[bytes], Any]:
        decode = self._decoders.get((writer, reader))
        if decode is None:
            other = None if reader is writer or reader.parsed == writer.parsed else reader.parsed
            decode = decoder(writer.parsed, other, writer.text, self._return_record_name)
            self._decoders[writer, reader] = decode
        return decode
