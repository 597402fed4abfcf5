"""Several record types in one topic: written by subject strategies, and read as they were written.

Confluent's serializers and deserializers, with the strategies of the same names, write and read the
same bytes.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.admin import ConfigResource
from ottla.schema import Avro, Json, Protobuf, Registry, TypedValue
from ottla.testing import MockCluster, MockRegistry

CONTEXT = SerializationContext("shop", MessageField.VALUE)
STRATEGIES: Any = {
    "record": record_subject_name_strategy,
    "topic_record": topic_record_subject_name_strategy,
}


def avro(name: str, *fields: tuple[str, str]) -> str:
    """A record in the namespace shop."""
    described = [{"name": field, "type": of} for field, of in fields]
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": described})


ORDER = avro("Order", ("id", "long"))
PAYMENT = avro("Payment", ("order", "long"), ("amount", "double"))
VALUES = [
    TypedValue("shop.Order", {"id": 1}),
    TypedValue("shop.Payment", {"order": 1, "amount": 2.5}),
    TypedValue("shop.Order", {"id": 2}),
]


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


def formats(registry: Registry, strategy: Any) -> dict[str, Avro[Any]]:
    """A format for each type."""
    settings: dict[str, Any] = {"subject_strategy": strategy, "register": True}
    return {
        "shop.Order": Avro(registry, schema=ORDER, **settings),
        "shop.Payment": Avro(registry, schema=PAYMENT, **settings),
    }


def write(cluster: MockCluster, registry: Registry) -> None:
    """Write the values to a topic, and a tombstone."""
    cluster.create_topic("shop", partitions=1)
    by_type = formats(registry, "record")
    with ottla.Producer(cluster.bootstrap) as producer:
        for name, value in VALUES:
            assert name is not None
            producer.send("shop", by_type[name].serialize("shop", value), partition=0)
        producer.send("shop", None, partition=0)


@pytest.mark.parametrize("strategy", ["record", "topic_record"])
def test_subjects_are_those_of_confluents_strategies(
    mock_registry: MockRegistry, registry: Registry, strategy: str
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    by_type = formats(registry, strategy)
    for name, text in (("shop.Order", ORDER), ("shop.Payment", PAYMENT)):
        value = next(value for of, value in VALUES if of == name)
        ours = by_type[name].serialize("shop", value)
        conf = {"auto.register.schemas": False, "subject.name.strategy": STRATEGIES[strategy]}
        assert AvroSerializer(client, text, conf=conf)(value, CONTEXT) == ours
        assert AvroDeserializer(client)(ours, CONTEXT) == value
    prefix = "" if strategy == "record" else "shop-"
    assert sorted(registry.subjects()) == [f"{prefix}shop.Order", f"{prefix}shop.Payment"]
    # The schema of the type to read is given, or found by its subject.
    order = by_type["shop.Order"].serialize("shop", {"id": 7})
    assert order is not None
    assert Avro(registry, subject=f"{prefix}shop.Order").deserialize("shop", order) == {"id": 7}
    assert by_type["shop.Order"].deserialize("shop", order) == {"id": 7}


def test_the_subject_of_a_message_and_of_a_titled_schema(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    title = '{"title":"Order","type":"object","properties":{"id":{"type":"integer"}}}'
    encoded = Json(registry, schema=title, subject_strategy="record", register=True).serialize(
        "shop", {"id": 1}
    )
    assert JSONDeserializer(None, schema_registry_client=client)(encoded, CONTEXT) == {"id": 1}
    proto = 'syntax = "proto3"; package shop; message A { int64 a = 1; } message B { int64 b = 1; }'
    settings: dict[str, Any] = {"subject_strategy": "topic_record", "register": True}
    Protobuf(registry, schema=proto, message="shop.B", **settings).serialize("shop", {"b": 1})
    assert sorted(registry.subjects()) == ["Order", "shop-shop.B"]


def test_a_callable_names_the_subject(registry: Registry) -> None:
    calls: list[tuple[str, str, str | None]] = []

    def strategy(topic: str, part: str, name: str | None) -> str:
        calls.append((topic, part, name))
        return f"{topic}.{part}.{name}"

    value = Avro(registry, schema=ORDER, subject_strategy=strategy, register=True)
    value.serialize("a", {"id": 1})
    value.serialize("a", {"id": 2})
    value.serialize("b", {"id": 1}, key=True)
    assert calls == [("a", "value", "shop.Order"), ("b", "key", "shop.Order")]
    assert sorted(registry.subjects()) == ["a.value.shop.Order", "b.key.shop.Order"]

    def failing(topic: str, part: str, name: str | None) -> str:
        raise LookupError(f"no subject for {name}")

    value = Avro(registry, schema='"string"', subject_strategy=failing, register=True)
    with pytest.raises(errors.ConfigError, match=r"subject_strategy failed: .*no subject for None"):
        value.serialize("a", "text")


def test_each_record_keeps_its_schema_in_every_read_of_records(
    mock_cluster: MockCluster, registry: Registry
) -> None:
    write(mock_cluster, registry)
    value = Avro(registry, convert=False)
    expected = [*VALUES, None]
    settings: dict[str, Any] = {"topics": ["shop"], "auto_offset_reset": "earliest"}

    def read(consumer: Any) -> list[Any]:
        found: list[Any] = []
        while len(found) < len(expected):
            found += [record.value for record in consumer.poll(timeout=10)]
        return found

    with ottla.Consumer(
        mock_cluster.bootstrap, group_id="g", value_deserializer=value, **settings
    ) as consumer:
        found = read(consumer)
    assert found == expected
    assert [type(value) for value in found] == [TypedValue, TypedValue, TypedValue, type(None)]

    async def read_async() -> list[Any]:
        async with ottla.AsyncConsumer(
            mock_cluster.bootstrap, group_id="a", value_deserializer=value, **settings
        ) as consumer:
            found: list[Any] = []
            while len(found) < len(expected):
                found += [record.value for record in await consumer.poll(timeout=10)]
            return found

    assert asyncio.run(read_async()) == expected
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", "s"): {"share.auto.offset.reset": "earliest"}})
    with ottla.ShareConsumer(
        mock_cluster.bootstrap, group_id="s", topics=["shop"], value_deserializer=value
    ) as shared:
        assert read(shared) == expected


def test_columns_need_one_schema(mock_cluster: MockCluster, registry: Registry) -> None:
    write(mock_cluster, registry)
    value = Avro(registry, convert=False)
    message = "there is no value column: its records keep the schemas"
    with pytest.raises(errors.ConfigError, match=message):
        ottla.scan("shop", mock_cluster.bootstrap, value_format=value)
    with pytest.raises(errors.ConfigError, match=message):
        value.arrow_type("shop")
    with ottla.Consumer(mock_cluster.bootstrap) as consumer:
        consumer.assign([("shop", 0)])
        with pytest.raises(errors.ConfigError, match=message):
            consumer.poll_arrow(timeout=1, value_format=value)
    # A union has a column for each type.
    union = Avro(registry, schema=f"[{ORDER},{PAYMENT}]")
    scan = ottla.scan("shop", mock_cluster.bootstrap, columns=["value"], value_format=union)
    rows = [row[0] for batch in scan for row in batch.rows()]
    assert rows[:2] == [
        {"member0": {"id": 1}, "member1": None},
        {"member0": None, "member1": {"order": 1, "amount": 2.5}},
    ]


def test_a_record_that_cannot_be_decoded_is_an_error_of_its_own(
    mock_cluster: MockCluster, registry: Registry
) -> None:
    write(mock_cluster, registry)
    bad = [b"x", b"\0\0\0\0\x63\x02", b"\0\0\0\0\x01", b"\0\0\0\0\x01\x02\x02"]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for data in (*bad, b"\0\0\0\0\x01\x0e"):
            producer.send("shop", data, partition=0)
    settings: dict[str, Any] = {"value_deserializer": Avro(registry, convert=False)}
    with ottla.Consumer(mock_cluster.bootstrap, **settings) as consumer:
        consumer.assign([("shop", 0)])
        consumer.seek("shop", 0, 0)
        offsets: dict[int, Any] = {}
        failed: dict[int, str] = {}
        while len(offsets) + len(failed) < 9:
            try:
                for record in consumer.poll(timeout=10):
                    offsets[record.offset] = record.value
            except errors.SerializationError as error:
                offset = error.context["offset"]
                failed[offset] = str(error)
                consumer.seek("shop", 0, offset + 1)
    assert sorted(failed) == [4, 5, 6, 7]
    assert "begins with byte 0x78" in failed[4]
    assert "schema 99" in failed[5]
    assert [offsets[at] for at in (0, 1, 2, 3, 8)] == [*VALUES, None, ("shop.Order", {"id": 7})]


def test_messages_of_one_file(registry: Registry) -> None:
    proto = """syntax = "proto3"; package shop;
        message Order { int64 id = 1; message Line { string name = 1; } }
        message Payment { double amount = 1; }"""
    as_written = Protobuf(registry, convert=False)
    values = [
        TypedValue("shop.Order", {"id": 7}),
        TypedValue("shop.Payment", {"amount": 2.5}),
        TypedValue("shop.Order.Line", {"name": "pen"}),
    ]
    for name, value in values:
        written = Protobuf(
            registry, schema=proto, message=name, subject_strategy="record", register=True
        ).serialize("shop", value)
        assert written is not None
        assert as_written.deserialize("shop", written) == (name, value)
    unknown = b"\0\0\0\0\x01" + b"\x02\x0a" + b"\x08\x01"
    with pytest.raises(errors.SerializationError, match="no message with the indexes"):
        as_written.deserialize("shop", unknown)


def test_schemas_without_a_name(registry: Registry) -> None:
    as_written = Avro(registry, convert=False)
    for text, value in (('"string"', "text"), ('{"type":"array","items":"long"}', [1, 2])):
        settings: dict[str, Any] = {"schema": text, "register": True}
        written = Avro(registry, subject=f"s{value}", **settings).serialize("shop", value)
        assert written is not None
        assert as_written.deserialize("shop", written) == (None, value)
        with pytest.raises(errors.ConfigError, match="has no name"):
            Avro(registry, subject_strategy="record", **settings).serialize("shop", value)
    json_schema = '{"type":"object","properties":{"id":{"type":"integer"}}}'
    written = Json(registry, schema=json_schema, register=True).serialize("shop", {"id": 1})
    assert written is not None
    assert Json(registry, convert=False).deserialize("shop", written) == (None, {"id": 1})
    with pytest.raises(errors.SerializationError, match="the schema is of type JSON, and not AVRO"):
        as_written.deserialize("shop", written)


def test_arguments_that_contradict_each_other(registry: Registry) -> None:
    for settings, message in (
        ({"convert": False, "schema": ORDER}, "convert=False keeps"),
        ({"convert": False, "version": 1}, "convert=False keeps"),
        ({"convert": False, "fields": ["id"]}, "convert=False keeps"),
        ({"convert": False, "wire_format": "none"}, "only if they carry ids"),
        ({"subject_strategy": "record"}, "give the schema of the type to read"),
        ({"subject_strategy": "name"}, 'expected one of "topic", "record", "topic_record"'),
        ({"subject_strategy": "record", "subject": "s"}, "not both"),
    ):
        with pytest.raises(errors.ConfigError, match=message):
            Avro(registry, **settings)
    with pytest.raises(TypeError, match="subject_strategy is of type int"):
        Avro(registry, schema=ORDER, subject_strategy=7)  # type: ignore[call-overload]
    with pytest.raises(errors.ConfigError, match="schema registry"):
        Avro(convert=False)


def test_a_poll_with_more_schemas_than_are_kept(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    count = 1100
    mock_registry.set_compatibility("NONE")
    values = []
    for number in range(count):
        text = json.dumps({"type": "long", "doc": str(number)})
        found = mock_registry.register("many-value", text)
        values.append(b"\0" + found.to_bytes(4, "big") + b"\x0e")
    mock_cluster.create_topic("many", partitions=1)
    mock_cluster.append("many", 0, values)
    # Both read what was registered once, which takes most of the time.
    ways: list[tuple[dict[str, Any], object]] = [
        ({"convert": False}, TypedValue(None, 7)),
        ({"schema": '"long"'}, 7),
    ]
    for settings, expected in ways:
        value = Avro(Registry(mock_registry.url), **settings)
        with ottla.Consumer(
            mock_cluster.bootstrap, value_deserializer=value, max_poll_records=count
        ) as consumer:
            consumer.assign([("many", 0)])
            consumer.seek("many", 0, 0)
            found_values: list[Any] = []
            while len(found_values) < count:
                found_values += [record.value for record in consumer.poll(timeout=30)]
        assert found_values == [expected] * count
