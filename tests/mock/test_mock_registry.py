"""The mock registry refuses what Confluent's refuses, with the same statuses and codes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    Metadata,
    MetadataProperties,
    SchemaRegistryClient,
    ServerConfig,
)
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry.error import SchemaRegistryError
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from ottla import errors
from ottla.schema import Registry, Schema
from ottla.testing import MockRegistry

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
# Its reader cannot read an order, which lacks the item; the other way round, the item is skipped.
ADDED = ORDER.replace("]}", ', {"name": "item", "type": "string"}]}')


def refusal(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[int, int]:
    """Return the status and the code of a refused call of confluent-kafka's client."""
    with pytest.raises(SchemaRegistryError) as error:
        call(*args, **kwargs)
    return error.value.http_status_code, error.value.error_code


def test_a_level_decides_which_changes_are_refused(mock_registry: MockRegistry) -> None:
    with Registry(mock_registry.url) as registry:
        registry.register("s", Schema(ORDER))
        with pytest.raises(errors.SchemaError, match="incompatible with earlier versions"):
            registry.register("s", Schema(ADDED))
        checked = registry.check_compatibility("s", Schema(ADDED))
        assert not checked
        assert "READER_FIELD_MISSING_DEFAULT_VALUE" in checked.messages[0]
    # The client remembers a refusal for a moment.
    with Registry(mock_registry.url) as registry:
        mock_registry.set_compatibility("FORWARD", "s")
        assert registry.register("s", Schema(ADDED)).version == 2
        # A test's own schemas are registered whatever the level is.
        mock_registry.register("s", '"string"')
        assert registry.schema_by_version("s", 3).text == '"string"'
        mock_registry.set_compatibility("NONE")
        assert registry.register("t", Schema('"int"')).version == 1
        assert registry.register("t", Schema('"string"')).version == 2
    with pytest.raises(errors.ConfigError, match="Invalid compatibility level"):
        mock_registry.set_compatibility("SOME")  # type: ignore[arg-type]


def test_levels_have_confluents_codes(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    assert client.get_compatibility() == "BACKWARD"
    assert refusal(client.get_compatibility, "s") == (404, 40408)
    assert refusal(client.set_compatibility, level="SOME") == (422, 42203)
    client.set_compatibility("s", "FULL_TRANSITIVE")
    assert client.get_compatibility("s") == "FULL_TRANSITIVE"
    assert client.get_compatibility() == "BACKWARD"
    client.register_schema("s", ConfluentSchema(ORDER))
    assert refusal(client.register_schema, "s", ConfluentSchema(ADDED)) == (409, 409)
    assert not client.test_compatibility("s", ConfluentSchema(ADDED))


def test_invalid_schemas_have_confluents_code(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    client.register_schema("s", ConfluentSchema(ORDER))
    unknown = ORDER.replace("long", "Item")
    for text, kind in ((unknown, "AVRO"), ('{"type": "text"}', "JSON"), ("int", "PROTOBUF")):
        schema = ConfluentSchema(text, kind)
        assert refusal(client.register_schema, "t", schema) == (422, 42201)
        assert refusal(client.lookup_schema, "s", schema) == (422, 42201)
    with pytest.raises(errors.ConfigError, match='the type "Item" is not defined'):
        mock_registry.register("t", unknown)


def test_deletion_is_soft_and_then_permanent(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    for subject in ("s", "t"):
        client.register_schema(subject, ConfluentSchema(ORDER))
    assert refusal(client.delete_version, "s", 1, permanent=True) == (404, 40407)
    assert client.delete_version("s", 1) == 1
    assert refusal(client.delete_subject, "s") == (404, 40404)
    assert client.get_subjects() == ["t"]
    assert client.get_subjects(deleted=True) == ["s", "t"]
    assert client.get_versions("s", deleted=True) == [1]
    assert client.delete_version("s", 1, permanent=True) == 1
    assert client.get_subjects(deleted=True) == ["t"]
    assert refusal(client.delete_subject, "t", permanent=True) == (404, 40405)
    assert client.delete_subject("t") == [1]
    assert client.delete_subject("t", permanent=True) == [1]
    another = SchemaRegistryClient({"url": mock_registry.url})
    assert refusal(another.get_schema, 1) == (404, 40403)


JSON_OLD = '{"type": "object", "properties": {"a": {"type": "integer"}}}'
JSON_NEW = '{"type": "object", "properties": {"a": {"type": "string"}}}'
PROTO_OLD = 'syntax = "proto3"; message M { int32 a = 1; }'
PROTO_NEW = 'syntax = "proto3"; message M { string a = 1; }'


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [("JSON", JSON_OLD, JSON_NEW), ("PROTOBUF", PROTO_OLD, PROTO_NEW)],
)
def test_other_types_are_compared_too(
    mock_registry: MockRegistry, kind: str, old: str, new: str
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    client.register_schema("s", ConfluentSchema(old, kind))
    assert not client.test_compatibility("s", ConfluentSchema(new, kind))
    assert refusal(client.register_schema, "s", ConfluentSchema(new, kind)) == (409, 409)
    client.set_compatibility("s", "NONE")
    assert client.register_schema("s", ConfluentSchema(new, kind)) == 2


def test_versions_of_a_group_are_compared(mock_registry: MockRegistry) -> None:
    """Metadata tells which versions of a subject must be compatible with each other."""
    client = SchemaRegistryClient({"url": mock_registry.url})
    client.set_config("s", ServerConfig(compatibility_group="major"))
    assert client.get_config("s").compatibility_group == "major"
    for text, major in ((ORDER, "1"), ('"string"', "2")):
        metadata = Metadata(
            tags=None, properties=MetadataProperties({"major": major}), sensitive=None
        )
        client.register_schema("s", ConfluentSchema(text, metadata=metadata))
    assert client.get_versions("s") == [1, 2]


def test_protobuf_is_returned_as_a_descriptor(mock_registry: MockRegistry) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    number = client.register_schema("s", ConfluentSchema(PROTO_OLD, "PROTOBUF"))
    serialized = client.get_schema(number, fmt="serialized").schema_str
    assert serialized is not None
    file = FileDescriptorProto.FromString(base64.b64decode(serialized))
    assert [field.name for field in file.message_type[0].field] == ["a"]
