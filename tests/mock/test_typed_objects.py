"""Objects of dataclasses, attrs, msgspec and pydantic as keys and values, in every route.

What ours write is what Confluent's deserializers read, and the reverse.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pydantic
import pytest
from confluent_kafka.schema_registry import (
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    Schema,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.admin import ConfigResource
from ottla.schema import Avro, Json, Registry
from ottla.schema.objects import FieldError, conversion
from ottla.testing import MockCluster, MockRegistry
from tests.support.object_types import (
    ORDERS,
    Defaults,
    ModelOrder,
    Point,
    Renamed,
    RenamedStruct,
    Row,
    order,
)

CONTEXT = SerializationContext("t", MessageField.VALUE)
kinds = pytest.mark.parametrize("kind", ORDERS)
formats = pytest.mark.parametrize("form", [Avro, Json])


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


@kinds
@formats
def test_objects_come_back_as_they_were(registry: Registry, form: Any, kind: str) -> None:
    """All types, null, unions and defaults; the schema is registered with the first object."""
    value = form(ORDERS[kind][0], registry, register=True)
    for number in range(12):
        data = value.serialize("t", order(kind, number))
        assert value.deserialize("t", data) == order(kind, number)
    text = registry.latest("t-value").text
    assert text == conversion(form.__name__.upper(), ORDERS[kind][0]).schema
    assert value.serialize("t", None) is None


@kinds
def test_confluents_avro_deserializer_reads_objects(
    mock_registry: MockRegistry, registry: Registry, kind: str
) -> None:
    value = Avro(ORDERS[kind][0], registry, register=True)
    decode = AvroDeserializer(SchemaRegistryClient({"url": mock_registry.url}))
    read: Any = decode(value.serialize("t", order(kind, 5)), CONTEXT)
    one = order(kind, 5)
    assert read["key"] == one.key
    assert read["at"] == one.at
    assert read["noon"] == one.noon
    assert read["items"][0]["price"] == Decimal("1.00")
    assert (read["state"], read["kind"], read["note"]) == ("PAID", "web", None)
    assert read["gift"] == {"name": "gift", "price": Decimal("1.50")}


@kinds
def test_what_confluents_avro_serializer_writes_becomes_objects(
    mock_registry: MockRegistry, registry: Registry, kind: str
) -> None:
    cls = ORDERS[kind][0]
    client = SchemaRegistryClient({"url": mock_registry.url})
    serialize = AvroSerializer(client, conversion("AVRO", cls).schema)
    one = order(kind, 4)
    names = ["id", "key", "at", "day", "noon", "data", "ratio", "kind", "counts", "note", "tags"]
    plain = {name: getattr(one, name) for name in names}
    plain |= {"state": "NEW", "items": [], "gift": 4, "key": str(one.key)}
    data = serialize(plain, CONTEXT)
    assert data is not None
    one.items = []
    assert Avro(cls, registry).deserialize("t", data) == one


@kinds
def test_confluents_json_serializers_agree(
    mock_registry: MockRegistry, registry: Registry, kind: str
) -> None:
    """Confluent's check objects by the schema that was derived."""
    cls = ORDERS[kind][0]
    value = Json(cls, registry, register=True)
    client = SchemaRegistryClient({"url": mock_registry.url})
    text = conversion("JSON", cls).schema
    decode = JSONDeserializer(text, schema_registry_client=client)
    encode = JSONSerializer(text, client)
    for number in range(6):
        plain: Any = decode(value.serialize("t", order(kind, number)), CONTEXT)
        assert plain["id"] == order(kind, number).id
        assert plain["state"] in ("new", "paid")
        data = encode(plain, CONTEXT)
        assert data is not None
        assert value.deserialize("t", data) == order(kind, number)


@formats
def test_other_types_of_the_standard_library_and_aliases(form: Any) -> None:
    at = datetime(2026, 1, 2, tzinfo=timezone.utc)
    for of, one, names in (
        (Point, Point(1.5), ["x", "y"]),
        (Row, Row(id=1, at=at), ["id", "at"]),
        (Renamed, Renamed(orderId=5), ["orderId"]),
        (RenamedStruct, RenamedStruct(5), ["orderId"]),
    ):
        value = form(of, wire_format="none")
        assert value.deserialize("t", value.serialize("t", one)) == one
        assert pa.schema(value.arrow_type()).names == names
    rows = form(list[Row], wire_format="none")
    assert rows.deserialize("t", rows.serialize("t", [{"id": 1, "at": at}])) == [
        {"id": 1, "at": at}
    ]


@formats
def test_records_are_objects_in_every_client(
    mock_cluster: MockCluster, registry: Registry, form: Any
) -> None:
    """Keys and values of producers and consumers, also with asyncio; null stays."""
    mock_cluster.create_topic("t", partitions=1)
    key = form(Point, registry, register=True)
    value = form(ModelOrder, registry, register=True)
    servers = mock_cluster.bootstrap
    with ottla.Producer(servers, key_serializer=key, value_serializer=value) as producer:
        producer.send("t", order("pydantic", 1), Point(1.0))
        producer.send_batch("t", [order("pydantic", 2), None], [Point(2.0), None]).result()

    async def with_asyncio() -> list[Any]:
        async with ottla.AsyncProducer(
            servers, key_serializer=key, value_serializer=value
        ) as producer:
            await producer.send("t", order("pydantic", 3), Point(3.0))
        async with ottla.AsyncConsumer(
            servers, auto_offset_reset="earliest", key_deserializer=key, value_deserializer=value
        ) as consumer:
            consumer.assign([("t", 0)])
            found: list[Any] = []
            while len(found) < 4:
                found += await consumer.poll(timeout=10)
            return found

    expected: list[Any] = [(Point(float(n)), order("pydantic", n)) for n in (1, 2, 3)]
    expected.insert(2, (None, None))
    assert [(record.key, record.value) for record in asyncio.run(with_asyncio())] == expected
    with ottla.Consumer(
        servers, auto_offset_reset="earliest", key_deserializer=key, value_deserializer=value
    ) as consumer:
        consumer.assign([("t", 0)])
        records = [next(consumer) for _ in range(4)]
        assert [(record.key, record.value) for record in records] == expected
    # The batch of a scan has columns of the type's schema.
    scan = ottla.scan("t", servers, columns=["value"], value_format=value)
    column = pa.RecordBatchReader.from_stream(scan).read_all().column("value")
    assert [each and each["id"] for each in column.to_pylist()] == [-1, 2, None, -3]
    with ottla.Client(servers) as client:
        assert client.topic_names() == ["t"]


def test_a_share_consumer_has_objects(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=1)
    mock_cluster.append("t", 0, [b'{"orderId": 7}'])
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        reset = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs({ConfigResource("group", "g"): reset})
    with ottla.ShareConsumer(
        mock_cluster.bootstrap,
        group_id="g",
        topics=["t"],
        value_deserializer=Json(Renamed, wire_format="none"),
    ) as consumer:
        assert next(consumer).value == Renamed(orderId=7)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (Json, b'{"orderId": 1}', b'{"orderId": -1}'),
        (Avro, b"\x02", b"\x01"),
    ],
)
def test_a_record_that_a_validator_refuses_keeps_the_position(
    mock_cluster: MockCluster, form: Any, good: bytes, bad: bytes
) -> None:
    """The error names the record and the field, has pydantic's as its cause, and is repeated."""
    mock_cluster.create_topic("t", partitions=1)
    mock_cluster.append("t", 0, [good, bad, good])
    with ottla.Consumer(
        mock_cluster.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=form(Renamed, wire_format="none"),
    ) as consumer:
        consumer.assign([("t", 0)])
        assert [record.value for record in consumer.poll(timeout=10)] == [Renamed(orderId=1)]
        for _ in range(2):
            with pytest.raises(
                errors.SerializationError, match="orderId: Input should be"
            ) as raised:
                consumer.poll(timeout=10)
            assert raised.value.context == {
                "topic": "t",
                "partition": 0,
                "offset": 1,
                "field": "value",
                "path": "orderId",
            }
            assert isinstance(raised.value.__cause__, FieldError)
            assert isinstance(raised.value.__cause__.__cause__, pydantic.ValidationError)
        assert consumer.position("t", 0) == 1
        consumer.seek("t", 0, 2)
        assert [record.value for record in consumer.poll(timeout=10)] == [Renamed(orderId=1)]


@kinds
@formats
def test_an_object_that_does_not_fit_is_not_sent(
    mock_cluster: MockCluster, form: Any, kind: str
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    value = form(ORDERS[kind][0], wire_format="none")
    one = order(kind, 3)
    one.counts = {"a": "x"}
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
        with pytest.raises(errors.SerializationError, match="int") as raised:
            producer.send("t", one)
        assert (raised.value.context["topic"], raised.value.context["field"]) == ("t", "value")
        with pytest.raises(errors.SerializationError, match=r"expected \w+Order|Expected `\w+"):
            producer.send("t", {"id": 1})
        assert producer.send("t", order(kind, 3)).result().offset == 0


def test_records_of_older_schemas_are_resolved_to_the_type(registry: Registry) -> None:
    """The type's schema is the reader's: a new field has its default, a removed one is ignored."""

    @dataclass
    class Old:
        id: int
        gone: str

    @dataclass
    class New:
        id: int
        note: str = "none"
        price: float | None = None

    Old.__name__ = New.__name__ = "Order"
    old = Avro(Old, registry, register=True)
    data = old.serialize("t", Old(5, "x"))
    assert data is not None
    new = Avro(New, registry)
    assert new.deserialize("t", data) == New(5)


def test_defaults_of_the_type_are_those_of_its_schema(registry: Registry) -> None:
    """Of each type: a record that lacks all fields but one becomes an object with the defaults."""
    made = next(
        f for f in json.loads(conversion("AVRO", Defaults).schema)["fields"] if f["name"] == "made"
    )
    old = {"type": "record", "name": "Defaults", "fields": [made]}
    data = Avro(registry, schema=json.dumps(old), register=True).serialize("t", {"made": None})
    assert data is not None
    value = Avro(Defaults, registry)
    assert value.deserialize("t", data) == Defaults(made=None)
    assert Json(Defaults, wire_format="none").deserialize("t", b'{"made": null}') == Defaults(
        made=None
    )


def test_a_schema_may_be_given(registry: Registry) -> None:
    """Then it is not derived: the objects are converted to it."""

    @dataclass
    class Order:
        id: int

    text = json.dumps(
        {"type": "record", "name": "Other", "fields": [{"name": "id", "type": "int"}]}
    )
    value = Avro(Order, registry, schema=text, register=True)
    data = value.serialize("t", Order(3))
    assert data is not None
    assert registry.latest("t-value").text == text
    assert Avro(Order, registry, version=1).deserialize("t", data) == Order(3)
    with pytest.raises(errors.SerializationError, match="id"):
        value.serialize("t", Order(2**40))


def test_wrong_arguments(registry: Registry) -> None:
    with pytest.raises(errors.ConfigError, match="given twice"):
        Avro(registry, registry)
    with pytest.raises(errors.ConfigError, match="leave fields out"):
        Json(Renamed, wire_format="none", fields=["orderId"]).deserialize("t", b"{}")
    with pytest.raises(errors.ConfigError, match=r"needs? a schema registry"):
        Json(Renamed)
    with pytest.raises(TypeError, match=r"expected ottla\.schema.Registry"):
        Avro(5)  # type: ignore[call-overload]
    permissive = Json(Renamed, wire_format="none", mode="permissive")
    with pytest.raises(errors.ConfigError, match="failfast"):
        ottla.Consumer("localhost:1", connect=False, value_deserializer=permissive)


@pytest.mark.parametrize(
    "data", [b"{", b"", b"\xff", b"[" * 100_000, b'{"orderId": NaN}', b"9" * 5000]
)
@pytest.mark.parametrize("of", [Renamed, RenamedStruct, Point, Row])
def test_hostile_json_is_an_error_of_its_record(of: Any, data: bytes) -> None:
    with pytest.raises(errors.SerializationError):
        Json(of, wire_format="none").deserialize("t", data)


def test_a_json_record_that_needs_a_rule_or_lacks_its_schema_is_an_error(
    mock_cluster: MockCluster, mock_registry: MockRegistry, registry: Registry
) -> None:
    """The object is made of the payload, but not before the writer's schema was looked up."""
    kind, mode = RuleKind.TRANSFORM, RuleMode.WRITEREAD
    rule = Rule("encryptId", None, kind, mode, "ENCRYPT", ["PII"], None, None, None, None, False)
    client = SchemaRegistryClient({"url": mock_registry.url})
    schema = Schema(conversion("JSON", Renamed).schema, "JSON", [], None, RuleSet(None, [rule]))
    schema_id = client.register_schema("other", schema)
    value = Json(Renamed, registry)
    mock_cluster.create_topic("t", partitions=1)
    for one, message in ((schema_id, 'rule "encryptId"'), (99, "99")):
        data = b"\0" + one.to_bytes(4, "big") + b'{"orderId": 1}'
        mock_cluster.append("t", 0, [data])
        with pytest.raises(errors.SerializationError, match=message):
            value.deserialize("t", data)
        with pytest.raises(errors.SerializationError, match=message):
            read_last(mock_cluster, value)


def read_last(cluster: MockCluster, value: Any) -> None:
    """Read the last record of the topic."""
    with ottla.Consumer(cluster.bootstrap, value_deserializer=value) as consumer:
        consumer.assign([("t", 0)])
        consumer.seek("t", 0, consumer.end_offsets(("t", 0))["t", 0] - 1)
        consumer.poll(timeout=10)


def test_bytes_before_the_payload_are_checked(registry: Registry) -> None:
    with pytest.raises(errors.SerializationError, match="byte 0x7b"):
        Json(Renamed, registry).deserialize("t", b'{"orderId": 1}')
