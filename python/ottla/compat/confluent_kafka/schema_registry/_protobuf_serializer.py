"""The serializer of Protobuf as steps, for both twins.

The application's generated class writes the payload; the registry is needed for the schema's id
and for rules.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._protobuf_file import (
    ProtobufFile,
    ProtobufSchemas,
    refuse_deprecated_format,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_rules import (
    transform,
    validate_message,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import (
    PROTOBUF_TYPE,
    _create_index_array,
    _is_builtin,
    _schema_to_str,
)
from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
    SchemaReference,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import encode_indexes
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
from ottla.compat.confluent_kafka.schema_registry._strategies import reference_subject_name_strategy
from ottla.compat.confluent_kafka.schema_registry._validation import ValidationRulesExecution
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry
from ottla.compat.confluent_kafka.serialization import SerializationContext


class ProtobufSerializerSteps(ProtobufSchemas, SerializerCore):
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
        refuse_deprecated_format(rest)
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
        file: ProtobufFile,
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
