"""Objects of types that contain themselves, in JSON and Protobuf, compared with Confluent's."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message import DecodeError

import ottla
from ottla import errors
from ottla.schema import Json, Protobuf, Registry
from ottla.testing import MockCluster, MockRegistry
from tests.support import recursive_types as types
from tests.support.recursive_types import NODES, File, Folder, Link, Node, cycle, links, tree

CONTEXT = SerializationContext("t", MessageField.VALUE)
MESSAGE, OUTER = types.messages()


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


def plain(value: Any) -> Any:
    """Return a tree as dicts."""
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump()
    if isinstance(value, tuple):
        return {"name": value[0], "children": [plain(each) for each in value[1]]}
    if attrs.has(type(value)):
        return attrs.asdict(value)
    return msgspec.to_builtins(value)


@pytest.mark.parametrize("of", NODES)
def test_trees_in_json_are_those_of_confluents_serializers(
    mock_registry: MockRegistry, registry: Registry, of: Any
) -> None:
    value: Any = Json(of, registry, register=True, validate=True)
    data = value.serialize("t", tree(of))
    assert json.loads(data[5:]) == plain(tree(of))
    assert value.deserialize("t", data) == tree(of)
    client = SchemaRegistryClient({"url": mock_registry.url})
    text = client.get_latest_version("t-value").schema.schema_str
    assert text is not None
    read = JSONDeserializer(text, schema_registry_client=client)(data, CONTEXT)
    assert read == plain(tree(of))
    options = {"auto.register.schemas": False, "use.latest.version": True}
    written = JSONSerializer(text, client, conf=options)(plain(tree(of)), CONTEXT)
    assert value.deserialize("t", written) == tree(of)


def test_recursive_messages_are_those_of_confluents_serializers(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    client = SchemaRegistryClient({"url": mock_registry.url})
    node = MESSAGE(name="root", children=[MESSAGE(name="a", children=[MESSAGE()]), MESSAGE()])
    for of, message in ((MESSAGE, node), (OUTER, OUTER(nodes=[node], next=OUTER(next=OUTER())))):
        value: Any = Protobuf(of, registry, register=True)
        data = value.serialize(of.__name__, message)
        assert value.deserialize(of.__name__, data) == message
        decode = ProtobufDeserializer(of, {"use.deprecated.format": False}, client)
        context = SerializationContext(of.__name__, MessageField.VALUE)
        assert decode(data, context) == message
        options = {
            "auto.register.schemas": False,
            "use.latest.version": True,
            "use.deprecated.format": False,
        }
        written = ProtobufSerializer(of, client, options)(message, context)
        assert written == data


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (Json(Node, wire_format="none"), tree(Node)),
        (Protobuf(MESSAGE, wire_format="none"), MESSAGE(name="a", children=[MESSAGE()])),
    ],
    ids=["json", "protobuf"],
)
def test_every_client_sends_and_polls_them(
    mock_cluster: MockCluster, form: Any, value: Any
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    servers = mock_cluster.bootstrap
    with ottla.Producer(servers, key_serializer=form, value_serializer=form) as producer:
        producer.send("t", value, value)
        producer.send_batch("t", [value, None], [value, None]).result()

    async def with_asyncio() -> list[Any]:
        async with ottla.AsyncProducer(servers, value_serializer=form) as producer:
            await producer.send("t", value)
        async with ottla.AsyncConsumer(
            servers, auto_offset_reset="earliest", value_deserializer=form
        ) as consumer:
            consumer.assign([("t", 0)])
            found: list[Any] = []
            while len(found) < 4:
                found += await consumer.poll(timeout=10)
            return [record.value for record in found]

    assert asyncio.run(with_asyncio()) == [value, value, None, value]
    with ottla.Consumer(
        servers, auto_offset_reset="earliest", key_deserializer=form, value_deserializer=form
    ) as consumer:
        consumer.assign([("t", 0)])
        assert [next(consumer).key for _ in range(4)] == [value, value, None, None]


@pytest.mark.parametrize("of", [Node, *NODES[2:4]])
def test_columns_of_a_recursive_type_are_an_error_that_names_the_remedy(
    mock_cluster: MockCluster, of: Any
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    value: Any = Json(of, wire_format="none")
    message = "is recursive, which Arrow has no type for: take its records one by one as objects"
    with pytest.raises(errors.SchemaError, match=message):
        value.arrow_type()
    with pytest.raises(errors.SchemaError, match=message):
        ottla.scan("t", mock_cluster.bootstrap, columns=["value"], value_format=value)
    pa = pytest.importorskip("pyarrow")
    column = pa.array([{"name": "a", "children": []}])
    with (
        ottla.Producer(mock_cluster.bootstrap) as producer,
        pytest.raises(errors.SchemaError, match=message),
    ):
        producer.send_batch("t", column, value_format=value).result()


@pytest.mark.parametrize("depth", [102, 100_000])
def test_what_is_nested_too_deep_is_an_error(depth: int) -> None:
    value: Any = Json(Link, wire_format="none")
    made = links(depth)
    with pytest.raises(errors.SerializationError, match="nested more than 100 levels deep"):
        value.serialize("t", made)
    # Not the destructors of so many objects within one another.
    rest: Link | None = made
    while rest is not None:
        rest.next, rest = None, rest.next
    data = b'{"value":1,"next":' * depth + b"null" + b"}" * depth
    with pytest.raises(errors.SerializationError, match=r"nested|recursion"):
        value.deserialize("t", data)
    assert value.deserialize("t", value.serialize("t", links(101))) == links(101)


def test_an_object_that_contains_itself_is_an_error() -> None:
    value: Any = Json(Link, wire_format="none")
    with pytest.raises(errors.SerializationError, match="an object contains itself") as caught:
        value.serialize("t", cycle())
    assert len(str(caught.value)) < 500
    for of in NODES[2:4]:
        node = of(name="a", children=[])
        node.children.append(node)
        with pytest.raises(errors.SerializationError, match=r"[Cc]ircular|recursion"):
            Json(of, wire_format="none").serialize("t", node)


def test_a_message_that_is_nested_too_deep_is_an_error() -> None:
    value: Any = Protobuf(MESSAGE, wire_format="none")
    data = b""
    for _ in range(150):
        length, prefix = len(data), bytearray()
        while length >= 0x80:
            prefix.append(length & 0x7F | 0x80)
            length >>= 7
        data = b"\x12" + bytes([*prefix, length]) + data
    with pytest.raises(errors.SerializationError, match="expected a message"):
        value.deserialize("t", data)
    root = last = MESSAGE(name="root")
    for _ in range(100):
        last = last.children.add(name="x")
    assert value.deserialize("t", value.serialize("t", root)) == root
    for _ in range(50_000):
        last = last.children.add(name="x")
    with pytest.raises(errors.SerializationError, match="nested more than 100 levels deep"):
        value.serialize("t", root)


@pytest.mark.parametrize(("maps", "links"), [(50, 0), (49, 2), (0, 100)])
@pytest.mark.parametrize("labels", [{}, {"a": "b"}])
def test_an_entry_of_a_map_counts_as_a_message(
    maps: int, links: int, labels: dict[str, str]
) -> None:
    """As it does for the parser of Protobuf."""
    of = types.message_of_maps()
    value: Any = Protobuf(of, wire_format="none")
    for count in range(max(links - 1, 0), links + 2):
        root = last = of()
        for _ in range(maps):
            last = last.children["a"]
        for _ in range(count):
            last.next.SetInParent()
            last = last.next
        last.labels.update(labels)
        levels = 2 * maps + count + len(labels)
        if levels <= 100:
            assert value.deserialize("t", value.serialize("t", root)) == root
            continue
        with pytest.raises(errors.SerializationError, match="more than 100 levels deep"):
            value.serialize("t", root)
        with pytest.raises(DecodeError):
            of.FromString(root.SerializeToString())


def test_classes_that_contain_each_other() -> None:
    value: Any = Json(Folder, wire_format="none")
    inner = Folder("b", {"x": File(5)})
    made = Folder("a", {"b": inner, "c": File(7, owner=inner)})
    data = value.serialize("t", made)
    assert json.loads(data) == dataclasses.asdict(made)
    assert value.deserialize("t", data) == made
    with pytest.raises(errors.SerializationError, match=r"entries\['b'\]\.entries\['x'\]"):
        value.serialize("t", Folder("a", {"b": Folder("b", {"x": 5})}))  # type: ignore[dict-item]


def test_members_of_a_union_are_tried_once_at_each_level() -> None:
    """Otherwise each level would double the work."""
    value: Any = Json(Folder, wire_format="none")
    data = b'{"name":"a","entries":{"b":' * 60 + b"5" + b"}}" * 60
    with pytest.raises(errors.SerializationError, match="no type of the union") as caught:
        value.deserialize("t", data)
    assert len(str(caught.value)) < 500


def test_an_error_in_a_union_is_that_of_the_type_that_got_furthest() -> None:
    value: Any = Json(Folder, wire_format="none")
    for levels in (1, 3, 60):
        data = b'{"name":"a","entries":{"b":' * levels + b'{"size":"no"}' + b"}}" * levels
        with pytest.raises(errors.SerializationError) as caught:
            value.deserialize("t", data)
        path = ".".join(["entries['b']"] * levels)
        if levels == 60:
            path = f"{path[:99]}…{path[-99:]}"
        assert caught.value.context["path"] == path
        reason = "no type of the union: size: expected int, not str 'no'; or name: missing"
        assert str(caught.value).endswith(f"FieldError: {path}: {reason}")
