"""Protobuf files of a serializer or deserializer, loaded from the registry once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._parsed_schemas import ParsedSchemaCache
from ottla.compat.confluent_kafka.schema_registry._protobuf_schema import (
    load_file,
    message_at,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._serde_core import take_flag
from ottla.compat.confluent_kafka.schema_registry._steps import Steps


class ProtobufFile:
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


class ProtobufSchemas:
    """The files of a serializer or deserializer."""

    _registry: Any
    _parsed_schemas: ParsedSchemaCache

    def _parse(self, schema: Schema) -> Steps[ProtobufFile]:
        known: ProtobufFile | None = self._parsed_schemas.get_parsed_schema(schema)
        if known is None:
            known = ProtobufFile((yield from load_file(schema, self._registry)))
            self._parsed_schemas.set(schema, known)
        return known


def refuse_deprecated_format(conf: dict[str, Any]) -> None:
    """Raise a ValueError if the format of clients before 1.8 is asked for."""
    if take_flag(conf, "use.deprecated.format"):
        raise ValueError("use.deprecated.format is no longer supported")
