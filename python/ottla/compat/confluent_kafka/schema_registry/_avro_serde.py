"""Serializer and deserializer of Avro as steps, for both twins.

What does not change from record to record is calculated once for each pair of schemas: the codec,
the expanded schema, and the tags of its fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._avro_codec import decoder, encoder
from ottla.compat.confluent_kafka.schema_registry._avro_rules import (
    get_inline_tags,
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._avro_schema import (
    load_text,
    named_schemas,
    parse,
)
from ottla.compat.confluent_kafka.schema_registry._deserializer_core import (
    DESERIALIZER_DEFAULTS,
    DeserializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_context import (
    FieldTransform,
    RuleContext,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import SchemaId
from ottla.compat.confluent_kafka.schema_registry._serde_core import (
    check_callable,
    refuse_rest,
    take_flag,
)
from ottla.compat.confluent_kafka.schema_registry._serializer_core import (
    SERIALIZER_DEFAULTS,
    SerializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._validation import ValidationRulesExecution
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext, SerializationError

AVRO_TYPE = "AVRO"


class _Parsed:
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


class _AvroSchemas:
    """The parsed schemas of a serializer or deserializer."""

    _registry: Any
    _parsed_schemas: ParsedSchemaCache

    def _parse(self, schema: Schema) -> Steps[_Parsed]:
        known: _Parsed | None = self._parsed_schemas.get_parsed_schema(schema)
        if known is None:
            if schema.schema_str is None:
                raise TypeError("Schema string cannot be None")
            named = yield from named_schemas(schema, self._registry)
            text = load_text(schema.schema_str).schema_str or ""
            known = _Parsed(schema, parse(text, named))
            self._parsed_schemas.set(schema, known)
        return known


class AvroSerializerSteps(_AvroSchemas, SerializerCore):
    """The serializer of Avro."""

    _schema_type = AVRO_TYPE
    _default_conf: ClassVar[dict[str, Any]] = {
        **SERIALIZER_DEFAULTS,
        "validate.strict": False,
        "validate.strict.allow.default": False,
    }

    def _set_up(
        self,
        registry: Any,
        schema_str: str | Schema | None,
        to_dict: Callable[..., Any] | None,
        conf: dict[str, Any] | None,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
    ) -> Steps[None]:
        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        self._encoders: dict[_Parsed, Callable[[Any], bytes]] = {}
        schema = load_text(schema_str) if isinstance(schema_str, str) else schema_str
        signature = "to_dict(object, SerializationContext)->dict"
        self._to_dict = check_callable(to_dict, "to_dict", signature)
        rest = self._default_conf | (conf or {})
        self._configure_serializer(rest)
        self._strict = take_flag(rest, "validate.strict")
        self._strict_allow_default = take_flag(rest, "validate.strict.allow.default")
        refuse_rest(rest)
        self._schema = schema
        self._own = None if schema is None else (yield from self._parse(schema))
        self._parsed_schema = None if self._own is None else self._own.parsed
        self._schema_name = _record_name(schema, self._parsed_schema)
        self._configure_rules(rule_conf, rule_registry)

    def _own_schema(self, ctx: SerializationContext | None) -> Steps[Schema]:
        yield from ()
        if self._schema is None:
            raise ValueError("there is no schema to register: pass one, or use the latest version")
        return self._schema

    def _serialize_value(self, obj: Any, ctx: SerializationContext | None) -> Steps[bytes]:
        subject = yield from self._subject(ctx, self._schema_name)
        latest: RegisteredSchema | None = None
        if subject and self._has_reader_schema():
            latest = yield from self._get_reader_schema(subject)
        if latest is None:
            schema_id = yield from self._registered_id(subject, ctx)
            own = self._own
        else:
            schema_id = self._id_of(latest)
            own = yield from self._parse(latest.schema)
        if ctx is not None and own is not None and schema_id is not None:
            self._keep_plain(ctx, schema_id, self._encoder(own))
        value = self._converted(self._to_dict, obj, ctx)
        if own is None:
            raise SerializationError("there is no schema to serialize with")
        if latest is None or ctx is None:
            if self._validation_enabled():
                self._check(own, value)
            data = self._encode(own, value)
        else:
            value = self._apply_rules(ctx, subject, latest, own, value)
            data = self._encode(own, value)
            data = self._encoding_rules(ctx, subject, latest, data)
        return self._schema_id_serializer(data, ctx, schema_id)

    def _apply_rules(
        self,
        ctx: SerializationContext,
        subject: str,
        latest: RegisteredSchema,
        own: _Parsed,
        value: Any,
    ) -> Any:
        if self._validation_enabled(ValidationRulesExecution.BEFORE_DOMAIN_RULES):
            self._check(own, value)
        if latest.schema.rule_set is not None:
            change = own.transformed
            mode, schema = RuleMode.WRITE, latest.schema
            value = self._execute_rules(ctx, subject, mode, None, schema, value, own.tags, change)
        if self._validation_enabled(ValidationRulesExecution.AFTER_DOMAIN_RULES):
            self._check(own, value)
        return value

    def _check(self, own: _Parsed, value: Any) -> None:
        executor, fail_fast = self._validation_rule_executor, self._validation_rules_fail_fast
        self._raise_validation_violations(
            validate_message(executor, own.expanded, value, fail_fast)
        )

    def _encode(self, own: _Parsed, value: Any) -> bytes:
        return self._encoder(own)(value)

    def _encoder(self, own: _Parsed) -> Callable[[Any], bytes]:
        encode = self._encoders.get(own)
        if encode is None:
            encode = encoder(own.parsed, own.text, self._strict, self._strict_allow_default)
            self._encoders[own] = encode
        return encode


def _record_name(schema: Schema | None, parsed: Any) -> str | None:
    # A union has no name; a primitive type has that of its type.
    if schema is None or not isinstance(parsed, dict):
        return None
    name: str | None = parsed.get("name")
    if name is None and schema.schema_str is not None:
        name = json.loads(load_text(schema.schema_str).schema_str or "{}").get("type")
    return name


class AvroDeserializerSteps(_AvroSchemas, DeserializerCore):
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
        self._decoders: dict[tuple[_Parsed, _Parsed | None], Callable[[bytes], Any]] = {}
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
            raise SerializationError(
                f"{len(data)} bytes are too few for the id of a schema and a value: the record was"
                " not written by a serializer of the schema registry"
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

    def _decode(self, writer: _Parsed, reader: _Parsed, payload: bytes) -> Any:
        return self._decoder(writer, reader)(payload)

    def _decoder(self, writer: _Parsed, reader: _Parsed) -> Callable[[bytes], Any]:
        decode = self._decoders.get((writer, reader))
        if decode is None:
            other = None if reader is writer or reader.parsed == writer.parsed else reader.parsed
            decode = decoder(writer.parsed, other, writer.text, self._return_record_name)
            self._decoders[writer, reader] = decode
        return decode
