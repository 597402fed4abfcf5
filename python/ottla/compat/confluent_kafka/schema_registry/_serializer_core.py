"""What serializers of all formats share: the schema's registration, and the end of a payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode, RulePhase
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import (
    SchemaId,
    prefix_schema_id_serializer,
)
from ottla.compat.confluent_kafka.schema_registry._serde_core import (
    SerdeCore,
    keep_key,
    take_callable,
    take_flag,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._validation import ValidationRulesExecution
from ottla.compat.confluent_kafka.serialization import SerializationContext

SERIALIZER_DEFAULTS: dict[str, Any] = {
    "auto.register.schemas": True,
    "normalize.schemas": False,
    "use.schema.id": None,
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    "subject.name.strategy.type": None,
    "subject.name.strategy.conf": None,
    "subject.name.strategy": None,
    "schema.id.serializer": prefix_schema_id_serializer,
    "validation.rules.execution": ValidationRulesExecution.DISABLED,
    "validation.rules.fail.fast": False,
    "validation.rules.executor": None,
}


class SerializerCore(SerdeCore):
    """The configuration of a serializer, and the ids of its schema by subject."""

    _new_lock: Callable[[], Any]
    _schema_type: str
    _auto_register: bool
    _normalize_schemas: bool
    _schema_id_serializer: Callable[..., bytes]
    # The id that was found out last, for programs that read it.
    _schema_id: SchemaId | None = None
    _to_dict: Callable[..., Any] | None = None

    def _configure_serializer(self, conf: dict[str, Any]) -> None:
        self._known_subjects: dict[str, SchemaId] = {}
        self._known_subjects_lock = self._new_lock()
        self._plain: dict[tuple[str, Any], tuple[bytes, Callable[[Any], bytes]]] = {}
        self._auto_register = take_flag(conf, "auto.register.schemas")
        self._normalize_schemas = take_flag(conf, "normalize.schemas")
        schema_id = conf.pop("use.schema.id")
        if schema_id is not None and not isinstance(schema_id, int):
            raise ValueError("use.schema.id must be an int value")
        self._use_schema_id = schema_id
        self._configure_common(conf)
        if self._use_latest_version and self._auto_register:
            raise ValueError("cannot enable both use.latest.version and auto.register.schemas")
        self._schema_id_serializer = take_callable(conf, "schema.id.serializer")
        self.configure_validation_rules(conf)

    def _keep_plain(
        self, ctx: SerializationContext, schema_id: SchemaId, encode: Callable[[Any], bytes]
    ) -> None:
        """Keep the encoder of a topic, for its next records."""
        if self._is_fixed() and self._schema_id_serializer is prefix_schema_id_serializer:
            self._plain[ctx.topic, ctx.field] = (schema_id.id_to_bytes(), encode)

    def _serialize(self, obj: Any, ctx: SerializationContext | None) -> Steps[bytes | None]:
        try:
            if obj is None:
                return None
            return (yield from self._serialize_value(obj, ctx))
        finally:
            keep_key(ctx, obj)

    def _serialize_value(self, obj: Any, ctx: SerializationContext | None) -> Steps[bytes]:
        raise NotImplementedError

    def _own_schema(self, ctx: SerializationContext | None) -> Steps[Schema]:
        """Return the schema to register."""
        raise NotImplementedError

    def _indexes(self) -> list[int] | None:
        return None

    def _id_of(self, registered: RegisteredSchema) -> SchemaId:
        found = SchemaId(self._schema_type, registered.schema_id, registered.guid, self._indexes())
        self._schema_id = found
        return found

    def _registered_id(
        self, subject: str | None, ctx: SerializationContext | None
    ) -> Steps[SchemaId | None]:
        """Return the id of the serializer's schema in a subject, and register it if configured."""
        if subject is None:
            return None
        known = self._known_subjects.get(subject)
        if known is not None:
            return known
        # Threads and tasks that come at the same time wait for one registration.
        yield self._known_subjects_lock.acquire()
        try:
            known = self._known_subjects.get(subject)
            if known is None:
                schema = yield from self._own_schema(ctx)
                call = (
                    self._registry.register_schema_full_response
                    if self._auto_register
                    else self._registry.lookup_schema
                )
                registered = yield call(subject, schema, normalize_schemas=self._normalize_schemas)
                known = self._known_subjects[subject] = self._id_of(registered)
        finally:
            self._known_subjects_lock.release()
        return known

    def _converted(
        self, to_dict: Callable[..., Any] | None, obj: Any, ctx: SerializationContext | None
    ) -> Any:
        if to_dict is None:
            return obj
        if ctx is None:
            raise TypeError("SerializationContext cannot be None")
        return to_dict(obj, ctx)

    def _encoding_rules(
        self, ctx: SerializationContext | None, subject: str, latest: RegisteredSchema, data: bytes
    ) -> bytes:
        if ctx is None:
            return data
        result: bytes = self._execute_rules(
            ctx,
            subject,
            RuleMode.WRITE,
            None,
            latest.schema,
            data,
            None,
            None,
            phase=RulePhase.ENCODING,
        )
        return result
