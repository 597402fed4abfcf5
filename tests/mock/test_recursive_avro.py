"""Objects of recursive records of Avro, compared with Confluent's serializers and fastavro."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.schema import Avro, Precision, Registry
from ottla.schema.objects import conversion
from ottla.testing import MockCluster, MockRegistry
from tests.support.recursive_types import NODES, File, Folder, Link, Node, cycle, links, tree

CONTEXT = SerializationContext("t", MessageField.VALUE)


@dataclass
class Part:
    """A tree with values of all kinds."""

    id: int
    at: datetime
    price: Annotated[Decimal, Precision(9, scale=2)]
    tags: list[str]
    either: int | str | Part | None = None
    parts: dict[str, list[Part]] = field(default_factory=dict)
    next: Part | None = None


def part(source: random.Random, depth: int) -> Part:
    """Return a random tree."""
    inner = [part(source, depth - 1) for _ in range(source.randrange(3))] if depth else []
    at = datetime(2025, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=source.randrange(2**50))
    return Part(
        id=source.randrange(-(2**63), 2**63),
        at=at,
        price=Decimal(source.randrange(-(10**9) + 1, 10**9)).scaleb(-2),
        tags=[f"é{source.random()}" for _ in range(source.randrange(3))],
        either=source.choice([5, "x", None, *inner]),
        parts={"a": inner, "b": []} if inner else {},
        next=source.choice([None, *inner]),
    )


def schema_of(of: Any) -> Any:
    """Return the derived schema."""
    return json.loads(conversion("AVRO", of).schema)


def written(schema: Any, value: Any) -> bytes:
    """Return what fastavro writes."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


def test_random_trees_are_those_of_fastavro() -> None:
    value: Any = Avro(Part, wire_format="none")
    schema = fastavro.parse_schema(schema_of(Part))
    source = random.Random(7)
    for _ in range(60):
        made = part(source, 4)
        data = value.serialize("t", made)
        read = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
        assert read == dataclasses.asdict(made)
        assert written(schema_of(Part), dataclasses.asdict(made)) == data
        assert value.deserialize("t", data) == made


@pytest.mark.parametrize("of", NODES)
def test_trees_are_those_of_confluents_serializers(
    mock_registry: MockRegistry, registry: Registry, of: Any
) -> None:
    value: Any = Avro(of, registry, register=True)
    data = value.serialize("t", tree(of))
    client = SchemaRegistryClient({"url": mock_registry.url})
    read = AvroDeserializer(client)(data, CONTEXT)
    assert read["children"][0]["children"][1] == {"name": "leaf", "children": []}
    options = {"auto.register.schemas": False, "use.latest.version": True}
    encode = AvroSerializer(client, json.dumps(schema_of(of)), conf=options)
    assert encode(read, CONTEXT) == data
    assert value.deserialize("t", data) == tree(of)


def test_classes_that_contain_each_other() -> None:
    value: Any = Avro(Folder, wire_format="none")
    inner = Folder("b", {"x": File(5)})
    made = Folder("a", {"b": inner, "c": File(7, owner=inner)})
    assert value.deserialize("t", value.serialize("t", made)) == made
    lists: Any = Avro(list[Link | Folder], wire_format="none")
    both = [links(3), inner]
    assert lists.deserialize("t", lists.serialize("t", both)) == both


WRITERS: list[tuple[str, Any, Any, Any]] = [
    (
        "fields are in another order, and one is missing",
        [
            {"name": "next", "type": ["null", "Link"]},
            {"name": "value", "type": "int"},
        ],
        {"next": {"next": None, "value": 1}, "value": -2},
        Link(-2, Link(1)),
    ),
    (
        "a field that the reader lacks is a record within itself",
        [
            {"name": "others", "type": {"type": "array", "items": "Link"}},
            {"name": "value", "type": "long"},
            {"name": "one", "type": ["null", {"type": "map", "values": "Link"}]},
        ],
        {
            "others": [{"others": [], "value": 3, "one": None}],
            "value": 7,
            "one": {"a": {"others": [], "value": 4, "one": {}}},
        },
        Link(7),
    ),
    (
        "the writer's union has another type, which is not written",
        [
            {"name": "value", "type": "long"},
            {"name": "next", "type": ["string", "Link", "null"]},
        ],
        {"value": 1, "next": {"value": 2, "next": None}},
        Link(1, Link(2)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [each[1:] for each in WRITERS],
    ids=[each[0] for each in WRITERS],
)
def test_records_of_other_schemas_are_resolved(
    mock_registry: MockRegistry, registry: Registry, fields: Any, value: Any, expected: Any
) -> None:
    """As fastavro resolves them."""
    writer = {"type": "record", "name": "Link", "fields": fields}
    data = written(writer, value)
    schema_id = mock_registry.register("w", json.dumps(writer))
    framed = b"\0" + schema_id.to_bytes(4, "big") + data
    of: Any = Avro(Link, registry)
    assert of.deserialize("t", framed) == expected
    parsed = fastavro.parse_schema(writer), fastavro.parse_schema(schema_of(Link))
    read = fastavro.schemaless_reader(io.BytesIO(data), *parsed)
    assert read == dataclasses.asdict(expected)


def test_a_record_of_another_name_is_resolved_by_its_fields(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """As in Java; fastavro goes by names alone."""
    last = {"type": "record", "name": "Last", "fields": [{"name": "value", "type": "int"}]}
    fields = [{"name": "value", "type": "long"}, {"name": "next", "type": last}]
    writer = {"type": "record", "name": "Link", "fields": fields}
    frame = b"\0" + mock_registry.register("w", json.dumps(writer)).to_bytes(4, "big")
    data = frame + written(writer, {"value": 1, "next": {"value": 2}})
    of: Any = Avro(Link, registry)
    assert of.deserialize("t", data) == Link(1, Link(2))


def test_a_record_that_cannot_be_resolved_is_an_error(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    writer = {
        "type": "record",
        "name": "Link",
        "fields": [
            {"name": "value", "type": "long"},
            {"name": "next", "type": ["null", "string", "Link"]},
        ],
    }
    schema_id = mock_registry.register("w", json.dumps(writer))
    frame = b"\0" + schema_id.to_bytes(4, "big")
    of: Any = Avro(Link, registry)
    good = {"value": 1, "next": {"value": 2, "next": None}}
    assert of.deserialize("t", frame + written(writer, good)) == Link(1, Link(2))
    bad = {"value": 1, "next": {"value": 2, "next": "text"}}
    with pytest.raises(errors.SerializationError, match="the writer has string"):
        of.deserialize("t", frame + written(writer, bad))


def test_every_client_sends_and_polls_them(mock_cluster: MockCluster, registry: Registry) -> None:
    mock_cluster.create_topic("t", partitions=1)
    servers, of = mock_cluster.bootstrap, Avro(Node, registry, register=True)
    value = tree(Node)
    with ottla.Producer(servers, key_serializer=of, value_serializer=of) as producer:
        producer.send("t", value, value)
        producer.send_batch("t", [value, None], [value, None]).result()

    async def with_asyncio() -> list[Any]:
        async with ottla.AsyncProducer(servers, value_serializer=of) as producer:
            await producer.send("t", value)
        async with ottla.AsyncConsumer(
            servers, auto_offset_reset="earliest", value_deserializer=of
        ) as consumer:
            consumer.assign([("t", 0)])
            found: list[Any] = []
            while len(found) < 4:
                found += await consumer.poll(timeout=10)
            return [record.value for record in found]

    assert asyncio.run(with_asyncio()) == [value, value, None, value]
    with ottla.Consumer(
        servers, auto_offset_reset="earliest", key_deserializer=of, value_deserializer=of
    ) as consumer:
        consumer.assign([("t", 0)])
        assert [next(consumer).key for _ in range(4)] == [value, value, None, None]
    with pytest.raises(errors.SchemaError, match="is recursive, which Arrow has no type for"):
        ottla.scan("t", servers, columns=["value"], value_format=of)


def test_what_is_nested_too_deep_is_an_error() -> None:
    of: Any = Avro(Link, wire_format="none")
    assert of.deserialize("t", of.serialize("t", links(101))) == links(101)
    for made in (links(102), cycle()):
        with pytest.raises(errors.SerializationError, match="nested more than 100 levels deep"):
            of.serialize("t", made)
    for depth in (102, 100_000):
        with pytest.raises(errors.SerializationError, match="nested"):
            of.deserialize("t", b"\2\2" * depth + b"\2\0")
    # Skipped, too.
    whole = {"type": "record", "name": "W", "fields": [{"name": "link", "type": schema_of(Link)}]}
    with MockRegistry() as mock:
        registry = Registry(mock.url)
        schema_id = mock.register("w", json.dumps(whole))
        frame = b"\0" + schema_id.to_bytes(4, "big")
        empty: Any = Avro(Empty, registry)
        assert empty.deserialize("t", frame + b"\2\0") == Empty()
        with pytest.raises(errors.SerializationError, match="nested too deep"):
            empty.deserialize("t", frame + b"\2\2" * 100_000 + b"\2\0")


@dataclass
class Empty:
    """A record without what was written."""

    next: Empty | None = None


@pytest.mark.parametrize("data", [b"", b"\2", b"\2\4", b"\2\0\0", b"\2\2\2"])
def test_malformed_bytes_are_an_error(data: bytes) -> None:
    of: Any = Avro(Link, wire_format="none")
    with pytest.raises(errors.SerializationError):
        of.deserialize("t", data)


def test_a_schema_may_be_given() -> None:
    schema = {
        "type": "record",
        "name": "Link",
        "fields": [
            {"name": "value", "type": "int"},
            {"name": "next", "type": ["Link", "null"]},
        ],
    }
    of: Any = Avro(Link, schema=json.dumps(schema), wire_format="none")
    data = of.serialize("t", links(3))
    assert data == written(schema, dataclasses.asdict(links(3)))
    assert of.deserialize("t", data) == links(3)
    with pytest.raises(errors.SerializationError, match=r"range|32"):
        of.serialize("t", Link(2**40))
