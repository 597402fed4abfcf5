"""Messages of generated classes of Protobuf as keys and values, compared with Confluent's."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor

import ottla
from ottla import errors
from ottla.schema import Avro, Protobuf, Registry
from ottla.testing import MockCluster, MockRegistry
from tests.support import protobuf_messages as shop

CLASSES = shop.classes()
ORDER, ITEM = CLASSES["Order"], CLASSES["Item"]
CONTEXT = SerializationContext("t", MessageField.VALUE)


def nested_classes() -> tuple[Any, Any]:
    """Return the classes of two messages: a second one with a map, and a recursive one in it."""
    file = descriptor_pb2.FileDescriptorProto(name="nested.proto", package="p", syntax="proto3")
    file.message_type.add(name="First").field.add(name="y", number=1, label=1, type=5)
    outer = file.message_type.add(name="Outer")
    entry = outer.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=5)
    message = FieldDescriptor.TYPE_MESSAGE
    outer.field.add(
        name="counts", number=1, label=3, type=message, type_name=".p.Outer.CountsEntry"
    )
    inner = outer.nested_type.add(name="Inner")
    inner.field.add(name="next", number=2, label=1, type=message, type_name=".p.Outer.Inner")
    inner.field.add(name="x", number=1, label=1, type=5)
    pool = descriptor_pool.DescriptorPool()
    found = pool.AddSerializedFile(file.SerializeToString())
    del found
    one, two = (pool.FindMessageTypeByName(name) for name in ("p.Outer", "p.Outer.Inner"))
    return message_factory.GetMessageClass(one), message_factory.GetMessageClass(two)


@pytest.fixture
def registry(mock_registry: MockRegistry) -> Registry:
    """A client of the mock registry."""
    return Registry(mock_registry.url)


def test_random_messages_are_those_of_confluents_serializers(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """Both ways, with the same bytes; nanoseconds and all types stay as they are."""
    value = Protobuf(ORDER, registry, register=True)
    client = SchemaRegistryClient({"url": mock_registry.url})
    source = random.Random(3)
    messages = [shop.fill(ORDER(), source) for _ in range(40)]
    encoded = [value.serialize("t", message) for message in messages]
    encode = ProtobufSerializer(
        ORDER,
        client,
        {
            "auto.register.schemas": False,
            "use.latest.version": True,
            "use.deprecated.format": False,
        },
    )
    decode = ProtobufDeserializer(ORDER, {"use.deprecated.format": False}, client)
    for message, data in zip(messages, encoded, strict=True):
        assert decode(data, CONTEXT) == message
        written = encode(message, CONTEXT)
        assert written is not None
        assert value.deserialize("t", written) == message
        assert type(value.deserialize("t", data or b"")) is ORDER


def test_messages_are_found_by_their_indexes(
    mock_registry: MockRegistry, registry: Registry
) -> None:
    """Java's serializer does not count the entries of maps, and Python's does: both are read."""
    outer, inner = nested_classes()
    client = SchemaRegistryClient({"url": mock_registry.url})
    encode = ProtobufSerializer(inner, client, {"use.deprecated.format": False})
    written = encode(inner(x=7, next=inner(x=8)), CONTEXT)
    assert written is not None
    assert written[5:8] == b"\4\2\2"
    value = Protobuf(inner, registry)
    assert value.deserialize("t", written) == inner(x=7, next=inner(x=8))
    java = written[:5] + b"\4\2\0" + inner(x=9).SerializeToString()
    assert value.deserialize("t", java) == inner(x=9)
    with pytest.raises(errors.SerializationError, match=r"p\.Outer\b"):
        value.deserialize("t", written[:5] + b"\2\2" + b"\x08\x07")
    whole = Protobuf(outer, registry, register=True, subject="outer")
    data = whole.serialize("t", outer(counts={"a": 1}))
    assert data is not None
    assert data[5:7] == b"\2\2"
    assert whole.deserialize("t", data) == outer(counts={"a": 1})


def test_records_are_messages(mock_cluster: MockCluster, registry: Registry) -> None:
    """Keys and values; a field that the class does not know stays in the message; null stays."""
    mock_cluster.create_topic("t", partitions=1)
    key, value = (Protobuf(cls, registry, register=True) for cls in (ITEM, ORDER))
    source = random.Random(4)
    messages = [shop.fill(ORDER(), source) for _ in range(20)]
    item = ITEM(name="pen", tags={"a": "b"})
    servers = mock_cluster.bootstrap
    with ottla.Producer(servers, key_serializer=key, value_serializer=value) as producer:
        for message in messages:
            producer.send("t", message, item)
        producer.send("t", None)
    with ottla.Consumer(
        servers, auto_offset_reset="earliest", key_deserializer=key, value_deserializer=value
    ) as consumer:
        consumer.assign([("t", 0)])
        records = [next(consumer) for _ in range(21)]
    assert [record.value for record in records] == [*messages, None]
    assert [record.key for record in records] == [*([item] * 20), None]
    scan = ottla.scan("t", servers, columns=["key"], key_format=key)
    column = pa.RecordBatchReader.from_stream(scan).read_all().column("key")
    assert column[0].as_py()["name"] == "pen"
    unknown = b"\xf8\x3f\x07"
    plain = Protobuf(ITEM, wire_format="none")
    data = item.SerializeToString(deterministic=True) + unknown
    assert plain.deserialize("t", data).SerializeToString(deterministic=True) == data


def test_a_malformed_message_names_its_record(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("t", partitions=1)
    # A name of 9 bytes, of which one is there; and a map whose entry is cut off.
    for bad in (b"\x0a\x09x", b"\x0a\x01x\x1a\x05\x0a"):
        mock_cluster.append("t", 0, [bad])
    with ottla.Consumer(
        mock_cluster.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=Protobuf(ITEM, wire_format="none"),
    ) as consumer:
        consumer.assign([("t", 0)])
        for offset in range(2):
            with pytest.raises(errors.SerializationError) as raised:
                consumer.poll(timeout=10)
            assert raised.value.context["offset"] == consumer.position("t", 0) == offset
            consumer.seek("t", 0, offset + 1)


@pytest.mark.parametrize("use_id", ["contentId"])
def test_apicurios_and_glues_messages(use_id: str) -> None:
    _, inner = nested_classes()
    with MockRegistry(path="/apis/ccompat/v7") as mock:
        registry = Registry(mock.url, apicurio_use_id=use_id)
        value = Protobuf(ITEM, registry, wire_format="apicurio", register=True)
        item = ITEM(name="pen")
        data = value.serialize("t", item)
        assert data is not None
        assert value.deserialize("t", data) == item
        payload = data[9:]
        assert payload == b"\x06\x0a\x04Item" + item.SerializeToString()
        headers = [("apicurio.value.contentId", data[1:9]), ("apicurio.protobuf.type", b"Item")]
        for one in (payload, item.SerializeToString()):
            assert value.deserialize("t", one, headers) == item
    glue = Protobuf(inner, wire_format="glue")
    framed = b"\3\0" + uuid.uuid4().bytes
    # By their full names: First, Outer, Outer.CountsEntry, Outer.Inner.
    found = [
        number for number in range(4) if _is_read(glue, framed + bytes([number]) + b"\x08\x07")
    ]
    assert len(found) == 1
    assert glue.deserialize("t", framed + bytes(found) + b"\x08\x07") == inner(x=7)


def _is_read(value: Protobuf[Any], data: bytes) -> bool:
    try:
        value.deserialize("t", data)
    except errors.SerializationError:
        return False
    return True


def test_an_id_in_a_header(mock_registry: MockRegistry, registry: Registry) -> None:
    """Confluent's indexes are in the header then, and the whole value is the message."""
    _, inner = nested_classes()
    client = SchemaRegistryClient({"url": mock_registry.url})
    written = ProtobufSerializer(inner, client, {"use.deprecated.format": False})(
        inner(x=7), CONTEXT
    )
    assert written is not None
    header = [("__value_schema_id", written[:8])]
    assert Protobuf(inner, registry).deserialize("t", written[8:], header) == inner(x=7)


def test_wrong_objects_and_types(registry: Registry) -> None:
    value = Protobuf(ITEM, wire_format="none")
    with pytest.raises(
        errors.SerializationError, match=r"expected a message shop\.Item, not Order"
    ):
        value.serialize("t", ORDER())
    with pytest.raises(errors.SerializationError, match=r"expected a message shop\.Item, not dict"):
        value.serialize("t", {"name": "x"})
    with pytest.raises(errors.SchemaError, match="no class that protoc generated"):
        Protobuf(dict, wire_format="none")
    with pytest.raises(errors.SchemaError, match=r"pass it to ottla\.schema\.Protobuf"):
        Avro(ITEM, registry)
    with pytest.raises(errors.ConfigError, match="leave schema, version and message out"):
        Protobuf(ITEM, registry, message="shop.Item")
    # Given as the schema, the class decodes to plain values.
    plain = Protobuf(schema=ITEM, wire_format="none")
    assert plain.deserialize("t", b"\x0a\x03pen")["name"] == "pen"
