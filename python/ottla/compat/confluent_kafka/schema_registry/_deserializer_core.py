"""What deserializers of all formats share: the writer's schema, and migrations to the reader's."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._rule_documents import RuleMode, RulePhase
from ottla.compat.confluent_kafka.schema_registry._rule_engine import has_rules
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
from ottla.compat.confluent_kafka.schema_registry._schema_id import (
    SchemaId,
    dual_schema_id_deserializer,
    header_of,
)
from ottla.compat.confluent_kafka.schema_registry._serde_core import (
    SerdeCore,
    keep_key,
    take_callable,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.serialization import SerializationContext, SerializationError

DESERIALIZER_DEFAULTS: dict[str, Any] = {
    "use.latest.version": False,
    "use.latest.with.metadata": None,
    "subject.name.strategy.type": None,
    "subject.name.strategy.conf": None,
    "subject.name.strategy": None,
    "schema.id.deserializer": dual_schema_id_deserializer,
}


# Of topics and schemas whose decoders are kept.
_MAX_PLAIN = 1000


@dataclass(frozen=True)
class Migration:
    """A step from one version of a subject to the next one, or the one before."""

    rule_mode: RuleMode
    source: RegisteredSchema | None
    target: RegisteredSchema | None


class DeserializerCore(SerdeCore):
    """The configuration of a deserializer, and the schemas of a payload."""

    _schema_type: str
    _schema_id_deserializer: Callable[..., Any]
    _from_dict: Callable[..., Any] | None = None
    # A byte and an id.
    _prefix_length = 5

    def _configure_deserializer(self, conf: dict[str, Any]) -> None:
        self._plain: dict[tuple[str, Any, bytes], Callable[[bytes], Any]] = {}
        self._configure_common(conf)
        self._schema_id_deserializer = take_callable(conf, "schema.id.deserializer")

    def _plain_decoder(
        self, data: bytes, ctx: SerializationContext | None
    ) -> Callable[[bytes], Any] | None:
        """Return the decoder of a payload whose schema is known and has no rules, or None."""
        prefix = self._prefix_length
        if ctx is None or len(data) < prefix or header_of(ctx) is not None:
            return None
        return self._plain.get((ctx.topic, ctx.field, data[:prefix]))

    def _keep_plain(
        self, data: bytes, ctx: SerializationContext, decode: Callable[[bytes], Any]
    ) -> None:
        """Keep the decoder of a payload, for others of the same topic and schema."""
        if (
            self._is_fixed()
            and self._schema_id_deserializer is dual_schema_id_deserializer
            and data[0] == 0
            and header_of(ctx) is None
        ):
            if len(self._plain) >= _MAX_PLAIN:
                self._plain.clear()
            self._plain[ctx.topic, ctx.field, data[: self._prefix_length]] = decode

    def _deserialize(self, data: bytes | None, ctx: SerializationContext | None) -> Steps[Any]:
        try:
            if data is None:
                return None
            return (yield from self._deserialize_value(data, ctx))
        finally:
            keep_key(ctx, data)

    def _deserialize_value(self, data: bytes, ctx: SerializationContext | None) -> Steps[Any]:
        raise NotImplementedError

    def _split(self, data: bytes, ctx: SerializationContext | None, schema_id: SchemaId) -> bytes:
        """Read where the payload's schema is, and return the payload."""
        read = self._schema_id_deserializer
        if (
            read is dual_schema_id_deserializer
            and data[0] == 0
            and (ctx is None or not ctx.headers)
            and schema_id.schema_type != "PROTOBUF"
            and len(data) >= 5
        ):
            # The usual case, without a stream.
            schema_id.id = int.from_bytes(data[1:5], "big")
            return data[5:]
        payload = read(data, ctx, schema_id)
        if isinstance(payload, bytes):
            return payload
        rest: bytes = payload.read()
        return rest

    def _writer_schema(
        self, schema_id: SchemaId, subject: str | None, fmt: str | None = None
    ) -> Steps[Schema]:
        schema: Schema
        if schema_id.id is not None:
            schema = yield self._registry.get_schema(schema_id.id, subject, fmt)
        elif schema_id.guid is not None:
            schema = yield self._registry.get_schema_by_guid(str(schema_id.guid), fmt)
        else:
            raise SerializationError("Schema ID or GUID is not set")
        return schema

    def _encoding_rules(
        self,
        ctx: SerializationContext | None,
        subject: str | None,
        writer: Schema | None,
        payload: bytes,
        data: bytes,
    ) -> bytes:
        if ctx is None or subject is None or writer is None or writer.rule_set is None:
            return payload
        result = self._execute_rules(
            ctx,
            subject,
            RuleMode.READ,
            None,
            writer,
            io.BytesIO(payload),
            None,
            None,
            data,
            RulePhase.ENCODING,
        )
        decoded: bytes = result if isinstance(result, bytes) else result.read()
        return decoded

    def _migrations(
        self, subject: str, writer: Schema, target: RegisteredSchema
    ) -> Steps[list[Migration]]:
        """Return the versions between the writer's and the reader's that have rules for the way."""
        source = yield self._registry.lookup_schema(
            subject, writer, normalize_schemas=False, deleted=True
        )
        if source.version == target.version:
            return []
        source_version, target_version = int(source.version), int(target.version or 0)
        up = source_version < target_version
        first, last = (source, target) if up else (target, source)
        mode = RuleMode.UPGRADE if up else RuleMode.DOWNGRADE
        versions = [first]
        low, high = sorted((source_version, target_version))
        for number in range(low + 1, high):
            between = yield self._registry.get_version(subject, number, True, None)
            versions.append(between)
        versions.append(last)
        migrations = []
        for before, after in pairwise(versions):
            if has_rules(after.schema.rule_set, RulePhase.MIGRATION, mode):
                pair = (before, after) if up else (after, before)
                migrations.append(Migration(mode, *pair))
        return migrations if up else migrations[::-1]

    def _execute_migrations(
        self, ctx: SerializationContext, subject: str, migrations: list[Migration], message: Any
    ) -> Any:
        for migration in migrations:
            source, target = migration.source, migration.target
            if source is not None and target is not None:
                message = self._execute_rules(
                    ctx,
                    subject,
                    migration.rule_mode,
                    source.schema,
                    target.schema,
                    message,
                    None,
                    None,
                    phase=RulePhase.MIGRATION,
                )
        return message

    def _from_object(
        self, from_dict: Callable[..., Any] | None, value: Any, ctx: SerializationContext | None
    ) -> Any:
        if from_dict is None:
            return value
        if ctx is None:
            raise TypeError("SerializationContext cannot be None")
        return from_dict(value, ctx)
