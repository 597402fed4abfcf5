"""The serializer of Avro as steps, for both twins."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._avro_codec import encoder
from ottla.compat.confluent_kafka.schema_registry._avro_parsed import (
    AVRO_TYPE,
    AvroSchemas,
    ParsedAvro,
)
from ottla.compat.confluent_kafka.schema_registry._avro_rules import validate_message
from ottla.compat.confluent_kafka.schema_registry._avro_schema import load_text
from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
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


class AvroSerializerSteps(AvroSchemas, SerializerCore):
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
        self._encoders: dict[ParsedAvro, Callable[[Any], bytes]] = {}
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
        own: ParsedAvro,
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

    def _check(self, own: ParsedAvro, value: Any) -> None:
        executor, fail_fast = self._validation_rule_executor, self._validation_rules_fail_fast
        self._raise_validation_violations(
            validate_message(executor, own.expanded, value, fail_fast)
        )

    def _encode(self, own: ParsedAvro, value: Any) -> bytes:
        return self._encoder(own)(value)

    def _encoder(self, own: ParsedAvro) -> Callable[[Any], bytes]:
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
