"""Serializer and deserializer of JSON as steps, for both twins.

Values are validated with the jsonschema library, as confluent-kafka does; references are those of
the registry, and nothing is fetched from elsewhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._deserializer_core import (
    DESERIALIZER_DEFAULTS,
    DeserializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._json_schema import ParsedJson, load_parsed
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
    take_flag,
)
from ottla.compat.confluent_kafka.schema_registry._serializer_core import (
    SERIALIZER_DEFAULTS,
    SerializerCore,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._validation import ValidationRulesExecution
from ottla.compat.confluent_kafka.schema_registry.common.json_schema import (
    JSON_TYPE,
    _json_dumps,
    _json_loads,
)
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext

log = logging.getLogger(__name__)


class _JsonSchemas:
    """The parsed schemas of a serializer or deserializer."""

    _registry: Any
    _parsed_schemas: ParsedSchemaCache

    def _parse(self, schema: Schema) -> Steps[ParsedJson]:
        known: ParsedJson | None = self._parsed_schemas.get_parsed_schema(schema)
        if known is None:
            known = yield from load_parsed(schema, self._registry)
            self._parsed_schemas.set(schema, known)
        return known


class JsonSerializerSteps(_JsonSchemas, SerializerCore):
    """The serializer of JSON."""

    _schema_type = JSON_TYPE
    _default_conf: ClassVar[dict[str, Any]] = {**SERIALIZER_DEFAULTS, "validate": True}

    def _set_up(
        self,
        schema_str: str | Schema | None,
        registry: Any,
        to_dict: Callable[..., Any] | None,
        conf: dict[str, Any] | None,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
        json_encode: Callable[[Any], Any] | None,
    ) -> Steps[None]:
        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        if isinstance(schema_str, str):
            schema_str = Schema(schema_str, schema_type=JSON_TYPE)
        self._schema = schema_str if isinstance(schema_str, Schema) else None
        self._json_encode = json_encode or _json_dumps
        signature = "to_dict(object, SerializationContext)->dict"
        self._to_dict = check_callable(to_dict, "to_dict", signature)
        rest = self._default_conf | (conf or {})
        self._configure_serializer(rest)
        self._validate = take_flag(rest, "validate")
        refuse_rest(rest)
        self._own = None if self._schema is None else (yield from self._parse(self._schema))
        self._parsed_schema = None if self._own is None else self._own.parsed
        title = isinstance(self._parsed_schema, dict) and self._parsed_schema.get("title")
        self._schema_name: str | None = title or None
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
        value = self._converted(self._to_dict, obj, ctx)
        if latest is not None and own is not None:
            value = self._apply_rules(ctx, subject, latest, own, value)
        elif own is not None and self._validation_enabled():
            self._check(own, value)
        if latest is None and ctx is not None and schema_id is not None:
            self._keep_plain(ctx, schema_id, partial(self._encode, own))
        data = self._encode(own, value)
        if latest is not None and subject is not None:
            data = self._encoding_rules(ctx, subject, latest, data)
        return self._schema_id_serializer(data, ctx, schema_id)

    def _encode(self, own: ParsedJson | None, value: Any) -> bytes:
        if self._validate and own is not None:
            own.validate(value)
        encoded = self._json_encode(value)
        return encoded.encode("utf8") if isinstance(encoded, str) else bytes(memoryview(encoded))

    def _apply_rules(
        self,
        ctx: SerializationContext | None,
        subject: str,
        latest: RegisteredSchema,
        own: ParsedJson,
        value: Any,
    ) -> Any:
        if self._validation_enabled(ValidationRulesExecution.BEFORE_DOMAIN_RULES):
            self._check(own, value)
        if ctx is not None and latest.schema.rule_set is not None:
            mode, schema, change = RuleMode.WRITE, latest.schema, own.transformed
            value = self._execute_rules(ctx, subject, mode, None, schema, value, None, change)
        if self._validation_enabled(ValidationRulesExecution.AFTER_DOMAIN_RULES):
            self._check(own, value)
        return value

    def _check(self, own: ParsedJson, value: Any) -> None:
        executor, fail_fast = self._validation_rule_executor, self._validation_rules_fail_fast
        self._raise_validation_violations(own.violations(executor, value, fail_fast))


class JsonDeserializerSteps(_JsonSchemas, DeserializerCore):
    """The deserializer of JSON."""

    _schema_type = JSON_TYPE
    _default_conf: ClassVar[dict[str, Any]] = {**DESERIALIZER_DEFAULTS, "validate": True}

    def _set_up(
        self,
        schema_str: str | Schema | None,
        from_dict: Callable[..., Any] | None,
        registry: Any,
        conf: dict[str, Any] | None,
        rule_conf: dict[str, Any] | None,
        rule_registry: RuleRegistry | None,
        json_decode: Callable[[bytes], Any] | None,
    ) -> Steps[None]:
        self._registry = registry
        self._parsed_schemas = ParsedSchemaCache()
        self._schema = _reader_schema(schema_str, registry)
        self._json_decode = json_decode or _json_loads
        rest = self._default_conf | (conf or {})
        self._configure_deserializer(rest)
        self._validate = take_flag(rest, "validate")
        refuse_rest(rest)
        self._own = None if self._schema is None else (yield from self._parse(self._schema))
        signature = "from_dict(dict, SerializationContext) -> object"
        self._from_dict = check_callable(from_dict, "from_dict", signature)
        self._configure_rules(rule_conf, rule_registry)

    def _deserialize_value(self, data: bytes, ctx: SerializationContext | None) -> Steps[Any]:
        subject = yield from self._subject(ctx, None)
        latest: RegisteredSchema | None = None
        asks = self._registry is not None and self._has_reader_schema()
        if subject is not None and asks:
            latest = yield from self._get_reader_schema(subject)
        schema_id = SchemaId(JSON_TYPE)
        payload = self._split(data, ctx, schema_id)
        writer_schema: Schema | None = None
        writer: ParsedJson | None = None
        if self._registry is not None:
            writer_schema = yield from self._writer_schema(schema_id, subject)
            writer = yield from self._parse(writer_schema)
            if subject is None and isinstance(writer.parsed, dict):
                subject = yield from self._subject(ctx, writer.parsed.get("title"))
                if subject is not None and asks:
                    latest = yield from self._get_reader_schema(subject)
        payload = self._encoding_rules(ctx, subject, writer_schema, payload, data)
        value = self._json_decode(payload)

        schema, reader, migrations = writer_schema, writer, None
        if latest is not None and subject is not None and writer_schema is not None:
            migrations = yield from self._migrations(subject, writer_schema, latest)
            schema = latest.schema
            reader = yield from self._parse(schema)
        elif self._schema is not None:
            schema, reader = self._schema, self._own
        if ctx is not None and subject is not None:
            if migrations:
                value = self._execute_migrations(ctx, subject, migrations, value)
            if reader is not None and schema is not None and schema.rule_set is not None:
                mode, change = RuleMode.READ, reader.transformed
                value = self._execute_rules(
                    ctx, subject, mode, None, schema, value, None, change, data
                )
        if ctx is not None and _has_no_rules(writer_schema) and _has_no_rules(schema):
            self._keep_plain(data, ctx, partial(self._decode, reader))
        return self._from_object(self._from_dict, self._validated(reader, value), ctx)

    def _decode(self, reader: ParsedJson | None, payload: bytes) -> Any:
        return self._validated(reader, self._json_decode(payload))

    def _validated(self, reader: ParsedJson | None, value: Any) -> Any:
        if self._validate:
            if reader is None:
                log.warning("a value is not validated, as there is no schema for it")
            else:
                reader.validate(value)
        return value


def _has_no_rules(schema: Schema | None) -> bool:
    return schema is None or schema.rule_set is None


def _reader_schema(schema_str: str | Schema | None, registry: Any) -> Schema | None:
    if isinstance(schema_str, str):
        return Schema(schema_str, schema_type=JSON_TYPE)
    if schema_str is None:
        if registry is None:
            raise ValueError(
                'schema_registry_client must be provided if "schema_str" is not provided'
            )
        return None
    if not isinstance(schema_str, Schema):
        raise TypeError("You must pass either str or Schema")
    if schema_str.references and registry is None:
        raise ValueError(
            'schema_registry_client must be provided if "schema_str" is a Schema instance with'
            " references"
        )
    return schema_str
