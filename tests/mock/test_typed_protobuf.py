"""Keys and values in Protobuf: what google.protobuf encodes is decoded to the same values."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2

import ottla
from ottla import errors
from ottla.schema import Protobuf
from ottla.testing import MockCluster
from tests.support import protobuf_messages as shop
from tests.support.consumers import KINDS, TIMEOUT

CLASSES = shop.classes()
ORDER = CLASSES["Order"]
SOURCES: dict[str, Any] = {
    "text": shop.text(),
    "class": ORDER,
    "descriptor_set": shop.descriptor_set(),
}


def orders(count: int, seed: int = 1) -> list[Any]:
    """Return random orders."""
    source = random.Random(seed)
    return [shop.fill(ORDER(), source) for _ in range(count)]


def given(**options: Any) -> Protobuf:
    """Return a format for orders without ids."""
    return Protobuf(**{"schema": ORDER, "wire_format": "none", **options})


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.mark.parametrize("source", SOURCES)
def test_values_are_those_of_google_protobuf(source: str) -> None:
    """Random messages of a schema with all types of fields are decoded to their values."""
    decoder = given(schema=SOURCES[source], message="shop.Order")
    for seed in range(30):
        for message in orders(10, seed):
            decoded = shop.read(decoder.deserialize("orders", message.SerializeToString()))
            assert decoded == shop.expected(message), seed


def test_columns_and_records_are_those_of_google_protobuf(
    mock_cluster: MockCluster, single: str, kind: Any
) -> None:
    """A poll, a poll to Arrow and a scan decode the same values, in the same order."""
    messages = orders(50)
    expected = [shop.expected(message) for message in messages]
    mock_cluster.append(single, 0, [message.SerializeToString() for message in messages])
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["value"], value_format=given())
    assert [shop.read(row[0]) for row in batch.rows()] == expected
    config = {"auto.offset.reset": "earliest"}
    with kind(mock_cluster.bootstrap, config, value_deserializer=given()) as consumer:
        consumer.assign([(single, 0)])
        values = [shop.read(record.value) for record in consumer.poll(timeout=TIMEOUT)]
    assert values == expected
    scan = ottla.scan(single, mock_cluster.bootstrap, columns=["value"], value_format=given())
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    assert table.schema.field("value").type.field("plain_uint64").type == pa.decimal128(20, 0)
    states = table.column("value").combine_chunks().field("state").to_pylist()
    assert states == [value["state"] for value in expected]


def test_fields_are_selected(mock_cluster: MockCluster, single: str) -> None:
    """Columns have the selected fields, in the order of the schema, and their values."""
    messages = orders(50, seed=3)
    mock_cluster.append(single, 0, [message.SerializeToString() for message in messages])
    fields = ["card", "items.price", "customer.address.city", "by_number.name", "plain_string"]
    scan = ottla.scan(
        single, mock_cluster.bootstrap, columns=["value"], value_format=given(fields=fields)
    )
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    assert table.schema.field("value").type == pa.struct(
        [
            pa.field("plain_string", pa.string(), nullable=False),
            pa.field(
                "customer",
                pa.struct([pa.field("address", pa.struct([pa.field("city", pa.string())]))]),
            ),
            pa.field(
                "items",
                pa.list_(
                    pa.field(
                        "item",
                        pa.struct([pa.field("price", pa.float64(), nullable=False)]),
                        nullable=False,
                    )
                ),
                nullable=False,
            ),
            pa.field(
                "by_number",
                pa.map_(
                    pa.decimal128(20, 0),
                    pa.field(
                        "value",
                        pa.struct([pa.field("name", pa.string(), nullable=False)]),
                        nullable=False,
                    ),
                ),
                nullable=False,
            ),
            pa.field("card", pa.string()),
        ]
    )
    decoder = given(fields=fields)
    for message in messages:
        whole = shop.expected(message)
        customer = whole["customer"]
        address = customer and customer["address"]
        assert decoder.deserialize(single, message.SerializeToString()) == {
            "plain_string": whole["plain_string"],
            "customer": customer and {"address": address and {"city": address["city"]}},
            "items": [{"price": item["price"]} for item in whole["items"]],
            "by_number": {key: {"name": item["name"]} for key, item in whole["by_number"].items()},
            "card": whole["card"],
        }


def test_another_message_can_be_named(single: str) -> None:
    """The message is the class's, the one that is named, or the first one."""
    item = CLASSES["Item"](name="pen", price=1.5, tags={"a": "b"})
    expected = {"name": "pen", "price": 1.5, "tags": {"a": "b"}}
    for source in (CLASSES["Item"], *SOURCES.values()):
        named = given(schema=source, message="shop.Item")
        assert named.deserialize(single, item.SerializeToString()) == expected
    assert given(schema=CLASSES["Item"]).deserialize(single, b"") == {
        "name": "",
        "price": 0.0,
        "tags": {},
    }
    first = given(schema=shop.text()).deserialize(single, b"")
    assert set(first) == {field.name for field in ORDER.DESCRIPTOR.fields}


def test_a_module_and_files_of_their_own_are_sources(single: str) -> None:
    """A generated module has a descriptor, too, and its files may be spread over a package."""
    part = descriptor_pb2.FileDescriptorProto(name="a/part.proto", package="a", syntax="proto3")
    message = part.message_type.add(name="Part")
    message.field.add(name="x", number=1, type="TYPE_INT32", label="LABEL_OPTIONAL")
    whole = descriptor_pb2.FileDescriptorProto(name="whole.proto", package="w", syntax="proto3")
    whole.dependency.append("a/part.proto")
    message = whole.message_type.add(name="Whole")
    message.field.add(
        name="part", number=1, type="TYPE_MESSAGE", label="LABEL_OPTIONAL", type_name=".a.Part"
    )

    class File:
        def __init__(self, proto: Any, *dependencies: Any) -> None:
            self.name, self.dependencies = proto.name, dependencies
            self.serialized_pb = proto.SerializeToString()

    class Module:
        DESCRIPTOR = File(whole, File(part))

    assert given(schema=Module).deserialize(single, b"\n\x02\x08\x05") == {"part": {"x": 5}}
    files = descriptor_pb2.FileDescriptorSet(file=[part, whole]).SerializeToString()
    assert given(schema=files).deserialize(single, b"\n\x02\x08\x05") == {"part": {"x": 5}}
    assert given(schema=files, message="a.Part").deserialize(single, b"\x08\x05") == {"x": 5}
    for options, expected in [
        (
            {"schema": files, "message": "w.Prat"},
            "has no message w.Prat; its first ones are a.Part",
        ),
        (
            {"schema": descriptor_pb2.FileDescriptorSet(file=[whole]).SerializeToString()},
            "the file a/part.proto is missing",
        ),
        ({"schema": b""}, "there are none"),
        ({"schema": b"\xff"}, "it is not a FileDescriptorSet"),
    ]:
        with pytest.raises(errors.SchemaError, match=expected):
            given(**options)
    editions = descriptor_pb2.FileDescriptorProto(name="e.proto", syntax="editions")
    editions.message_type.add(name="E")
    new = descriptor_pb2.FileDescriptorSet(file=[editions]).SerializeToString()
    with pytest.raises(errors.SchemaError, match="editions are not implemented"):
        given(schema=new).deserialize(single, b"")


def test_a_malformed_value_names_its_field(mock_cluster: MockCluster, single: str) -> None:
    """It is an error with its offset, or null with the reason."""
    good = ORDER(plain_int32=7).SerializeToString()
    name = ORDER.DESCRIPTOR.fields_by_name["customer"].number
    bad = bytes([(name << 3 | 2) & 0x7F | 0x80, name >> 4, 3, 10, 1, 0xFF])
    mock_cluster.append(single, 0, [good, bad, good])
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=given()
    ) as consumer:
        consumer.assign([(single, 0)])
        [record] = consumer.poll(timeout=TIMEOUT)
        assert record.value == shop.expected(ORDER(plain_int32=7))
        with pytest.raises(errors.SerializationError, match=r"customer\.name") as caught:
            consumer.poll(timeout=TIMEOUT)
        assert caught.value.context == {"topic": single, "partition": 0, "offset": 1}
    value = given(mode="permissive", fields=["plain_int32", "customer.address"])
    scan = ottla.scan(single, mock_cluster.bootstrap, columns=["value"], value_format=value)
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    # The name is not selected, and so not checked.
    assert table.column("_error").to_pylist() == [None] * 3
    value = given(mode="permissive", fields=["customer.name"])
    scan = ottla.scan(single, mock_cluster.bootstrap, columns=["value"], value_format=value)
    table = pa.RecordBatchReader.from_stream(scan).read_all()
    assert table.column("value").is_null().to_pylist() == [False, True, False]
    assert "a text is not UTF-8" in table.column("_error").to_pylist()[1]


@pytest.mark.parametrize(
    ("options", "error", "expected"),
    [
        ({"schema": None}, errors.ConfigError, "need a schema registry"),
        ({"wire_format": "confluent"}, errors.ConfigError, "need a schema registry"),
        ({"version": 1}, errors.ConfigError, "either schema or version"),
        ({"schema": 1.5}, TypeError, "schema is of type float: expected the text of a schema"),
        ({"fields": []}, errors.ConfigError, "fields: none were given"),
        ({"fields": ["a..b"]}, errors.ConfigError, "an empty name"),
        ({"fields": "state"}, TypeError, "str"),
    ],
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], expected: str
) -> None:
    """The error comes when the format is created."""
    with pytest.raises(error, match=expected):
        given(**options)


def test_unusable_schemas_and_fields_are_refused(single: str) -> None:
    """The error comes when the schema is first used."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"fields": ["custmer.name"]}, 'no field "custmer"; similar names are customer'),
        ({"fields": ["customer.adress"]}, 'no field "adress" in customer; similar names are addr'),
        ({"fields": ["at.seconds"]}, 'no field "seconds" in at, which has no fields'),
        ({"schema": "message {"}, "not a valid Protobuf schema"),
        ({"schema": shop.text(), "message": "Order"}, "it has no message Order"),
    ]
    for options, expected in cases:
        with pytest.raises(errors.SchemaError, match=expected):
            given(**options).deserialize(single, b"")
