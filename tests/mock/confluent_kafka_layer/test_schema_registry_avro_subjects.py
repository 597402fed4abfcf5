"""The stand-in's serializers of Avro find the schemas that confluent-kafka's find.

Which subject, version or id it is, where the id is written, and how often the registry is asked.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ottla.testing import MockRegistry
from tests.support.registry_layers import ORIGINAL, OURS, Layer, both
from tests.support.registry_orders import ORDER, PETS, RECORD, text_of


@both
def test_the_guid_may_be_in_a_header(layer: str) -> None:
    names = Layer(layer)
    client = names.SchemaRegistryClient.new_client({"url": "mock://"})
    conf = {"schema.id.serializer": names.header_schema_id_serializer}
    choices: list[Any] = [[], {}]
    for headers in choices:
        context = names.value_context(headers=headers)
        payload = names.AvroSerializer(client, text_of(RECORD), conf=conf)(ORDER, context)
        pairs = dict(headers)
        assert pairs["__value_schema_id"][:1] == b"\x01"
        assert names.AvroDeserializer(client)(payload, context) == {**ORDER}
    plain = names.AvroSerializer(client, text_of(RECORD))(ORDER, names.value_context())
    read = names.AvroDeserializer(client)
    # After records without headers, too.
    for _ in range(2):
        assert read(plain, names.value_context()) == ORDER
        assert read(payload, context) == ORDER


@pytest.mark.parametrize(
    ("conf", "subjects"),
    [
        ({}, ["orders-value"]),
        ({"subject.name.strategy.type": "RECORD"}, ["shop.Order"]),
        ({"subject.name.strategy.type": "TOPIC_RECORD"}, ["orders-shop.Order"]),
        ({"subject.name.strategy": lambda ctx, name: f"{ctx.topic}/{name}"}, ["orders/shop.Order"]),
    ],
)
def test_subjects_are_named_by_the_strategy(conf: dict[str, Any], subjects: list[str]) -> None:
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url})
            serialize = layer.AvroSerializer(client, text_of(RECORD), conf=conf)
            payload = serialize(ORDER, layer.value_context())
            assert registry.subjects() == subjects
            read = layer.AvroDeserializer(client, conf=conf)
            assert read(payload, layer.value_context()) == ORDER


def test_an_associated_subject_is_asked_for_once() -> None:
    for layer in (ORIGINAL, OURS):
        with MockRegistry() as registry:
            client = layer.SchemaRegistryClient({"url": registry.url})
            serialize = layer.AvroSerializer(client, text_of(RECORD))
            for _ in range(3):
                serialize(ORDER, layer.value_context())
            paths = [request.path.partition("?")[0] for request in registry.requests()]
            assert paths == [
                "/associations/resources/-/orders",
                "/subjects/orders-value/versions",
            ]


@both
def test_the_latest_schema_is_used_if_configured(
    layer: str, registry_clients: dict[str, Any]
) -> None:
    names, client = Layer(layer), registry_clients[layer]
    wider = {**RECORD, "fields": [*RECORD["fields"], {"name": "x", "type": "int", "default": 1}]}
    for schema in (RECORD, wider):
        client.register_schema("orders-value", names.Schema(text_of(schema)))
    conf: dict[str, Any] = {"auto.register.schemas": False, "use.latest.version": True}
    serialize = names.AvroSerializer(client, None, conf=conf)
    context = names.value_context()
    payload = serialize(ORDER, context)
    assert payload[:5] == b"\x00\x00\x00\x00\x02"
    old = names.AvroSerializer(client, text_of(RECORD), conf={"auto.register.schemas": False})(
        ORDER, context
    )
    assert old[:5] == b"\x00\x00\x00\x00\x01"
    read = names.AvroDeserializer(client, conf={"use.latest.version": True})
    assert [read(data, context) for data in (old, payload)] == [{**ORDER, "x": 1}] * 2
    conf = {"auto.register.schemas": False, "use.schema.id": 1}
    chosen = names.AvroSerializer(client, None, conf=conf)
    assert chosen(ORDER, context) == old


def test_threads_register_a_schema_once(mock_registry: MockRegistry) -> None:
    client = OURS.SchemaRegistryClient({"url": mock_registry.url})
    serialize = OURS.AvroSerializer(client, text_of(RECORD))
    start = threading.Barrier(8)

    def write() -> None:
        start.wait()
        serialize(ORDER, OURS.value_context())

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    posts = [request for request in mock_registry.requests() if request.method == "POST"]
    assert len(posts) == 1


def test_the_asyncio_classes_do_the_same(mock_registry: MockRegistry) -> None:
    async def trace(layer: Layer) -> Any:
        client = layer.AsyncSchemaRegistryClient({"url": mock_registry.url})
        serialize = await layer.AsyncAvroSerializer(client, text_of(RECORD))
        read = await layer.AsyncAvroDeserializer(client)
        contexts = [layer.value_context() for _ in range(4)]
        payloads = await asyncio.gather(*(serialize(ORDER, context) for context in contexts))
        values = [await read(payload, contexts[0]) for payload in payloads]
        union = await layer.AsyncAvroSerializer(client, text_of(PETS))
        payloads.append(await union({"bark": "x"}, layer.value_context("pets")))
        with pytest.raises(layer.SerializationError):
            await read(b"\x07aaaaaaa", contexts[0])
        await client.aclose()
        return payloads, values

    ours = asyncio.run(trace(OURS))
    posts = [request for request in mock_registry.requests() if request.method == "POST"]
    assert len(posts) == 2
    assert ours == asyncio.run(trace(ORIGINAL))


@pytest.mark.parametrize(
    "conf",
    [
        {"no.such.key": 1},
        {"auto.register.schemas": "yes"},
        {"use.latest.version": True},
        {"use.schema.id": "1"},
        {"use.latest.with.metadata": "x"},
        {"subject.name.strategy": "x"},
        {"subject.name.strategy.type": "NONE"},
        {"subject.name.strategy.type": "OTHER"},
        {"schema.id.serializer": 1},
        {"validate.strict": 1},
        {"validation.rules.execution": "SOMETIMES"},
        {"validation.rules.execution": "BEFORE_DOMAIN_RULES", "validation.rules.executor": 1},
    ],
)
def test_a_wrong_configuration_is_refused(
    conf: dict[str, Any], registry_clients: dict[str, Any]
) -> None:
    for layer in (ORIGINAL, OURS):
        with pytest.raises(ValueError, match=r"."):
            layer.AvroSerializer(registry_clients[layer.root], text_of(RECORD), conf=conf)
