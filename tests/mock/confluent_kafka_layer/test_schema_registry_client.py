"""The registry's client of the stand-in returns what confluent-kafka's own returns."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ottla.compat.confluent_kafka.schema_registry import Schema
from ottla.compat.confluent_kafka.schema_registry._caches import LatestCache
from ottla.testing import MockRegistry
from tests.support.registry_layers import (
    NAMES,
    ORIGINAL,
    OURS,
    Layer,
    async_outcome,
    both,
    outcome,
)

FIRST = json.dumps({"type": "record", "name": "A", "fields": [{"name": "id", "type": "long"}]})
OTHER = '{"type": "string"}'

# Calls with the names of methods; schemas are made by each layer's own class.
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("get_subjects", ()),
    ("get_latest_version", ("a-value",)),
    ("register_schema", ("a-value", FIRST)),
    ("register_schema_full_response", ("a-value", FIRST)),
    ("register_schema", ("b/ü value", FIRST)),
    ("register_schema", ("c-value", OTHER)),
    ("lookup_schema", ("a-value", FIRST)),
    ("lookup_schema", ("a-value", OTHER)),
    ("lookup_schema", ("none-value", OTHER)),
    ("get_schema", (1,)),
    ("get_schema", (1, "a-value")),
    ("get_schema", (77,)),
    ("get_latest_version", ("b/ü value",)),
    ("get_version", ("a-value", 1)),
    ("get_version", ("a-value", "latest")),
    ("get_version", ("a-value", 9)),
    ("get_versions", ("a-value",)),
    ("get_versions", ("none-value",)),
    ("get_schema_types", ()),
    ("get_schema_versions", (1,)),
    ("test_compatibility", ("a-value", FIRST)),
    ("set_compatibility", ("a-value", "full")),
    ("get_compatibility", ("a-value",)),
    ("set_compatibility", ("a-value", None)),
    ("set_config", ("a-value", None)),
    ("get_subjects", ()),
    ("delete_version", ("a-value", 1)),
    ("get_version", ("a-value", 1)),
    ("delete_version", ("a-value", 7)),
]


def arguments(layer: Layer, args: tuple[Any, ...]) -> list[Any]:
    return [layer.Schema(arg) if arg in (FIRST, OTHER) else arg for arg in args]


def test_calls_return_what_the_originals_return() -> None:
    traces = []
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url})
            traces.append([outcome(getattr(client, n), *arguments(layer, a)) for n, a in CALLS])
    for call, original, ours in zip(CALLS, *traces, strict=True):
        assert without_guid(ours) == without_guid(original), call


def without_guid(value: Any) -> Any:
    # GUIDs are random.
    return {k: v for k, v in value.items() if k != "guid"} if isinstance(value, dict) else value


def test_calls_of_the_asyncio_client_return_the_same() -> None:
    async def trace(layer: Layer) -> list[Any]:
        with MockRegistry() as registry:
            client = layer.AsyncSchemaRegistryClient({"url": registry.url})
            async with client:
                return [
                    await async_outcome(getattr(client, name), *arguments(layer, args))
                    for name, args in CALLS
                ]

    original, ours = asyncio.run(trace(ORIGINAL)), asyncio.run(trace(OURS))
    for call, expected, found in zip(CALLS, original, ours, strict=True):
        assert without_guid(found) == without_guid(expected), call


@both
def test_what_is_known_is_not_asked_for_again(layer: str, mock_registry: MockRegistry) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient({"url": mock_registry.url})
    schema = names.Schema(FIRST)
    for _ in range(3):
        client.register_schema("a-value", schema)
        client.get_schema(1)
        client.lookup_schema("a-value", schema)
        client.get_version("a-value", 1)
        client.get_latest_version("a-value")
    assert len(mock_registry.requests()) == 4
    client.clear_latest_caches()
    client.get_latest_version("a-value")
    assert len(mock_registry.requests()) == 5
    client.clear_caches()
    client.get_schema(1)
    assert len(mock_registry.requests()) == 6


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"url": 1},
        {"url": "ftp://registry"},
        {"url": "http://registry", "no.such.key": 1},
        {"url": "http://registry", "ssl.key.location": "key.pem"},
        {"url": "http://registry", "basic.auth.user.info": "nocolon"},
        {"url": "http://a:b@registry", "basic.auth.user.info": "c:d"},
        {"url": "http://registry", "max.retries": "3"},
        {"url": "http://registry", "cache.capacity": "3"},
        {"url": "http://registry", "bearer.auth.credentials.source": "NONE"},
        {"url": "http://registry", "bearer.auth.credentials.source": "STATIC_TOKEN"},
        {"url": "http://registry", "bearer.auth.credentials.source": "CUSTOM"},
    ],
)
def test_a_wrong_configuration_is_the_originals_error(conf: dict[str, Any]) -> None:
    errors = []
    for name in NAMES:
        with pytest.raises((ValueError, TypeError)) as error:
            Layer(name).SchemaRegistryClient(dict(conf))
        errors.append(type(error.value))
    assert errors[0] is errors[1]


def test_the_latest_schemas_are_bounded_in_number_and_time() -> None:
    now = [0.0]
    cache = LatestCache(2, 10.0, clock=lambda: now[0])
    for key in "abc":
        cache.set(key, key.upper())
    assert [cache.get(key) for key in "abc"] == [None, "B", "C"]
    now[0] = 10.0
    assert [cache.get(key) for key in "abc"] == [None, None, None]


@both
def test_the_mock_client_is_a_registry_of_its_own(layer: str) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    schema = names.Schema(
        FIRST, metadata=names.Metadata(None, names.MetadataProperties({"a": "b"}), None)
    )
    assert client.register_schema("a-value", schema) == 1
    assert client.register_schema("a-value", names.Schema(OTHER)) == 2
    assert client.get_latest_version("a-value").version == 2
    assert client.get_latest_with_metadata("a-value", {"a": "b"}).version == 1
    assert client.lookup_schema("a-value", schema).version == 1
    assert client.get_versions("a-value") == [1, 2] or layer == NAMES[0]
    client.delete_subject("a-value")
    with pytest.raises(names.SchemaRegistryError):
        client.get_latest_version("a-value")
    assert names.SchemaRegistryClient.new_client({"url": "mock://"}).get_subjects() == []


def test_schemas_are_values() -> None:
    first, second = Schema(FIRST), Schema(FIRST)
    assert first == second
    assert hash(first) == hash(second)
    assert {first: 1}[second] == 1
    assert first != Schema(FIRST, "JSON")
    assert Schema.from_dict(first.to_dict()) == first
