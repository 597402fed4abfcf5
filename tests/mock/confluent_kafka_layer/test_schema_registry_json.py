"""The stand-in's serializers of JSON write the bytes and read the values of confluent-kafka's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ottla.testing import MockRegistry
from tests.support.registry_layers import ORIGINAL, OURS, Layer, both, outcome

SCHEMA = json.dumps(
    {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id"],
    }
)
VALUES: list[Any] = [
    {"id": 1, "name": "é", "tags": ["a"]},
    {"id": 2},
    {"name": "none"},
    {"id": "x"},
    {"id": 3, "more": None},
    None,
]


@pytest.mark.parametrize("validate", [True, False])
def test_bytes_and_values_are_the_originals(
    registry_clients: dict[str, Any], validate: bool
) -> None:
    found = []
    for layer in (ORIGINAL, OURS):
        client, context = registry_clients[layer.root], layer.value_context()
        conf = {"validate": validate}
        serialize = layer.JSONSerializer(SCHEMA, client, conf=conf)
        payloads = [outcome(serialize, value, context) for value in VALUES]
        read = [layer.JSONDeserializer(None, None, client, conf=conf)]
        read.append(layer.JSONDeserializer(SCHEMA, conf=conf))
        payloads.append(b'\x00\x00\x00\x00\x01{"id": "x"}')
        values = [
            outcome(deserialize, payload, context)
            for deserialize in read
            for payload in payloads
            if not isinstance(payload, tuple)
        ]
        found.append((payloads, values))
    assert found[0] == found[1]


@both
def test_references_are_resolved(layer: str, registry_clients: dict[str, Any]) -> None:
    names, client = Layer(layer), registry_clients[layer]
    item = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}})
    client.register_schema("item", names.Schema(item, "JSON"))
    text = json.dumps({"type": "object", "properties": {"item": {"$ref": "item.json"}}})
    schema = names.Schema(text, "JSON", [names.SchemaReference("item.json", "item", 1)])
    context = names.value_context()
    serialize = names.JSONSerializer(schema, client)
    read = names.JSONDeserializer(None, None, client)
    for _ in range(2):
        assert read(serialize({"item": {"n": 1}}, context), context) == {"item": {"n": 1}}
        with pytest.raises(names.SerializationError, match="not of type"):
            serialize({"item": {"n": "x"}}, context)
    with pytest.raises(ValueError, match="schema_registry_client must be provided"):
        names.JSONDeserializer(schema)
    with pytest.raises(TypeError):
        names.JSONDeserializer(1)


@both
def test_own_functions_encode_and_decode(layer: str, registry_clients: dict[str, Any]) -> None:
    names, client, context = Layer(layer), registry_clients[layer], Layer(layer).value_context()
    serialize = names.JSONSerializer(
        SCHEMA, client, lambda obj, ctx: {"id": obj}, json_encode=lambda value: str(value).encode()
    )
    read = names.JSONDeserializer(
        None, lambda value, ctx: value["id"], client, json_decode=lambda data: {"id": len(data)}
    )
    for _ in range(2):
        payload = serialize(5, context)
        assert payload[5:] == b"{'id': 5}"
        assert read(payload, context) == 9


@both
def test_an_own_function_must_return_text_or_bytes(
    layer: str, registry_clients: dict[str, Any]
) -> None:
    names = Layer(layer)
    serialize = names.JSONSerializer(SCHEMA, registry_clients[layer], json_encode=lambda value: 5)
    with pytest.raises(TypeError):
        serialize({"id": 1}, names.value_context())


def test_nothing_is_fetched_from_elsewhere(registry_clients: dict[str, Any]) -> None:
    """A schema comes from a registry to which others write."""
    text = json.dumps({"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}})
    serialize = OURS.JSONSerializer(text, registry_clients[OURS.root])
    with pytest.raises(Exception, match=r"Unresolvable|127\.0\.0\.1"):
        serialize({"a": 1}, OURS.value_context())


def test_the_asyncio_classes_do_the_same(mock_registry: MockRegistry) -> None:
    async def trace(layer: Layer) -> Any:
        client = layer.AsyncSchemaRegistryClient({"url": mock_registry.url})
        serialize = await layer.AsyncJSONSerializer(SCHEMA, client)
        read = await layer.AsyncJSONDeserializer(None, None, client)
        context = layer.value_context()
        payloads = [await serialize(VALUES[0], context) for _ in range(2)]
        with pytest.raises(layer.SerializationError):
            await serialize(VALUES[2], context)
        values = [await read(payload, context) for payload in payloads]
        await client.aclose()
        return payloads, values

    assert asyncio.run(trace(OURS)) == asyncio.run(trace(ORIGINAL))
