"""The GUID of a record's schema in its header, in place of an id before the value.

The bytes are those of Confluent's serializers with ``header_schema_id_serializer``, and each reads
what the other writes. A header of other bytes does not stay with a record that is passed on.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

import ottla
from ottla import errors
from ottla.schema import Avro, Json, Protobuf, Registry
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support import protobuf_messages as shop
from tests.support.command import ottla_here

NUMBER = '{"type": "record", "name": "Number", "fields": [{"name": "n", "type": "long"}]}'
# Confluent's deserializer takes no payload below six bytes, though the id is in the header.
BIG = 2**40
JSON_NUMBER = '{"title": "Number", "type": "object", "properties": {"n": {"type": "integer"}}}'
VALUE_ID, KEY_ID = "__value_schema_id", "__key_schema_id"


@dataclass
class Number:
    """A value."""

    n: int


def confluent(kind: Any, client: SchemaRegistryClient, *args: Any) -> Any:
    """Confluent's serializer, which writes the GUID of the registered schema into the header."""
    conf: dict[str, Any] = {
        "schema.id.serializer": header_schema_id_serializer,
        "auto.register.schemas": False,
        "use.latest.version": True,
    }
    if kind is AvroSerializer:
        return kind(client, *args, conf=conf)
    return kind(*args, client, conf=conf)


def written(serialize: Any, topic: str, value: Any, *, key: bool) -> tuple[bytes, list[Any]]:
    """The bytes and the headers of Confluent's serializer."""
    headers: list[Any] = [("trace", b"1")]
    part = MessageField.KEY if key else MessageField.VALUE
    return serialize(value, SerializationContext(topic, part, headers)), headers


@pytest.mark.parametrize("key", [False, True])
def test_the_bytes_are_those_of_confluents_serializers(
    mock_registry: MockRegistry, key: bool
) -> None:
    registry = Registry(mock_registry.url)
    client = SchemaRegistryClient({"url": mock_registry.url})
    order, item = (shop.classes()[name] for name in ("Order", "Item"))
    options: dict[str, Any] = {"register": True, "schema_id_serializer": "header"}
    cases: list[tuple[Any, Any, Any]] = [
        (Avro(registry, schema=NUMBER, **options), (AvroSerializer, NUMBER), {"n": 7}),
        (Protobuf(order, registry, **options), (ProtobufSerializer, order), order(plain_int64=3)),
        # The header has the indexes of the message, too: its file has it as the last one.
        (Protobuf(item, registry, **options), (ProtobufSerializer, item), item(name="n")),
        (Json(registry, schema=JSON_NUMBER, **options), (JSONSerializer, JSON_NUMBER), {"n": 7}),
    ]
    for number, (ours, theirs, value) in enumerate(cases):
        topic = f"t{number}"
        headers: list[Any] = [("trace", b"1")]
        payload = ours.serialize(topic, value, headers, key=key)
        assert [name for name, _ in headers] == ["trace", KEY_ID if key else VALUE_ID]
        named: dict[str, Any] = {}
        assert ours.serialize(topic, value, named, key=key) == payload
        assert [*named.items()] == headers[1:]
        encoded, expected = written(confluent(theirs[0], client, theirs[1]), topic, value, key=key)
        assert headers == expected
        # JSON texts differ in blanks.
        assert encoded.replace(b" ", b"") == payload
        for data in (encoded, payload):
            assert ours.deserialize(topic, data, headers, key=key) == value


def headers_of(records: Any) -> list[list[str]]:
    """The names of the headers of records."""
    return [[name for name, _ in record.headers] for record in records]


def test_records_of_every_way_to_write_have_the_header(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    registry = Registry(mock_registry.url)
    value = Avro(registry, schema=NUMBER, register=True, schema_id_serializer="header")
    key = Json(Number, registry, register=True, schema_id_serializer="header")
    stale = [(VALUE_ID, b"\x01" + bytes(16)), ("own", b"x")]

    async def write() -> None:
        async with ottla.AsyncProducer(
            mock_cluster.bootstrap, key_serializer=key, value_serializer=value
        ) as producer:
            await producer.send("t", {"n": 5 + BIG}, Number(5))
            await producer.send_batch("t", pa.table({"n": [6 + BIG]}))

    with ottla.Producer(
        mock_cluster.bootstrap, key_serializer=key, value_serializer=value
    ) as producer:
        producer.send("t", {"n": BIG}, Number(0), headers=stale)
        producer.send("t", None, Number(1))
        producer.send_batch("t", [{"n": 2 + BIG}], headers=[stale])
        kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
        table = pa.table(
            {"value": [{"n": 3 + BIG}, None], "headers": pa.array([stale, [("own", b"y")]], kind)}
        )
        producer.send_batch("t", table)
    asyncio.run(write())
    read = Avro(registry, schema=NUMBER)
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=read
    ) as consumer:
        consumer.assign([("t", 0)])
        records: list[Any] = []
        while len(records) < 7:
            records += consumer.poll(timeout=10)
    found = [record.value and record.value["n"] for record in records]
    assert found == [BIG, None, 2 + BIG, 3 + BIG, None, 5 + BIG, 6 + BIG]
    assert headers_of(records) == [
        ["own", KEY_ID, VALUE_ID],
        [KEY_ID],
        ["own", VALUE_ID],
        ["own", VALUE_ID],
        ["own"],
        [KEY_ID, VALUE_ID],
        [VALUE_ID],
    ]
    typed = ottla.scan("t", mock_cluster.bootstrap, value_format=read)
    assert pa.table(typed)["value"].to_pylist() == [
        None if number is None else {"n": number} for number in found
    ]
    client = SchemaRegistryClient({"url": mock_registry.url})
    decode = AvroDeserializer(client)
    raw = pa.table(ottla.scan("t", mock_cluster.bootstrap, columns=["value", "headers"]))
    for row, number in zip(raw.to_pylist(), found, strict=True):
        pairs = [(each["key"], each["value"]) for each in row["headers"]]
        context = SerializationContext("t", MessageField.VALUE, pairs)
        assert decode(row["value"], context) == (None if number is None else {"n": number})


def test_a_header_of_other_bytes_does_not_stay(
    mock_cluster: MockCluster, mock_registry: MockRegistry
) -> None:
    """Else readers of a record that is passed on would take the old schema for its own."""
    mock_cluster.create_topic("t", partitions=1)
    registry = Registry(mock_registry.url)
    value = Avro(registry, schema=NUMBER, register=True)
    stale = [(VALUE_ID, b"\x01" + bytes(16)), (KEY_ID, b"k"), ("own", b"x")]
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
        producer.send("t", {"n": 1}, b"key", headers=stale)
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=value
    ) as consumer:
        consumer.assign([("t", 0)])
        (record,) = consumer.poll(timeout=10)
    assert record.value == {"n": 1}
    # Nothing encoded the key, so that its header stays.
    assert headers_of([record]) == [[KEY_ID, "own"]]


def test_serialize_removes_the_header_of_other_bytes(mock_registry: MockRegistry) -> None:
    value = Avro(Registry(mock_registry.url), schema=NUMBER, register=True)
    old: list[Any] = [(VALUE_ID, b"\x01" + bytes(16)), (VALUE_ID.encode(), b"\x01"), (KEY_ID, b"k")]
    headers = [*old, ("own", b"x")]
    data = value.serialize("t", {"n": 1}, headers)
    assert headers == [(KEY_ID, b"k"), ("own", b"x")]
    assert data is not None
    assert value.deserialize("t", data, headers) == {"n": 1}
    named = dict(old)
    assert value.serialize("t", {"n": 1}, named) == data
    assert named == {KEY_ID: b"k"}
    # Headers that need no change may be of any kind.
    assert value.serialize("t", {"n": 1}, (("own", b"x"),)) == data


def test_a_registry_without_guids_is_an_error(mock_registry: MockRegistry) -> None:
    old = json.dumps({"id": 1, "version": 1}).encode()
    mock_registry.inject(RegistryFault.body(old))
    value = Avro(
        Registry(mock_registry.url), schema=NUMBER, register=True, schema_id_serializer="header"
    )
    message = r"returned no GUID .* values of topic t.*Confluent Platform has GUIDs since version 8"
    with pytest.raises(errors.SchemaError, match=message):
        value.serialize("t", {"n": 1}, [])


def test_a_guid_that_could_not_be_looked_up_is_looked_up_again(mock_registry: MockRegistry) -> None:
    """The registration succeeds; the look-up of what its response lacks fails once."""
    denied = RegistryFault.status(403)
    mock_registry.inject(denied, method="POST", path="/subjects/t-value", skip=1, times=1)
    value = Avro(
        Registry(mock_registry.url), schema=NUMBER, register=True, schema_id_serializer="header"
    )
    with pytest.raises(errors.SchemaError, match="no GUID"):
        value.serialize("t", {"n": 1}, [])
    headers: list[Any] = []
    value.serialize("t", {"n": 1}, headers)
    assert [name for name, _ in headers] == [VALUE_ID]


def test_what_cannot_have_the_header_is_an_error(mock_registry: MockRegistry) -> None:
    registry = Registry(mock_registry.url)
    options: dict[str, Any] = {"schema": NUMBER, "schema_id_serializer": "header"}
    with pytest.raises(errors.ConfigError, match='needs wire_format="confluent"'):
        Avro(registry, wire_format="none", **options)
    with pytest.raises(errors.ConfigError, match='expected one of "prefix", "header"'):
        Avro(registry, schema=NUMBER, schema_id_serializer="guid")  # type: ignore[call-overload]
    value = Avro(registry, register=True, **options)
    for headers in (None, ()):
        with pytest.raises(errors.ConfigError, match="adds the header __value_schema_id"):
            value.serialize("t", {"n": 1}, headers)
    assert value.serialize("t", None) is None


def test_the_command_line_writes_the_header(
    mock_cluster: MockCluster, mock_registry: MockRegistry, tmp_path: Path
) -> None:
    mock_cluster.create_topic("t", partitions=1)
    file = tmp_path / "n.avsc"
    file.write_text(NUMBER)
    options = ["--value-format", "avro", "--schema-registry", mock_registry.url]
    given = ["--value-schema", f"@{file}", "--value-schema-id-serializer", "header"]
    write = ("produce", mock_cluster.bootstrap, "-t", "t", *options, *given)
    lines = b'{"n": 1}\n\n{"n": 2}\n'
    done = ottla_here(*write, "-H", "own=x", "-Z", "--value-register", stdin=lines)
    assert (done.code, done.err) == (0, "")
    raw = pa.table(ottla.scan("t", mock_cluster.bootstrap, columns=["value", "headers"]))
    names = [[each["key"] for each in row["headers"]] for row in raw.to_pylist()]
    assert names == [["own", VALUE_ID], ["own"], ["own", VALUE_ID]]
    value = Avro(Registry(mock_registry.url))
    read = pa.table(ottla.scan("t", mock_cluster.bootstrap, value_format=value))
    assert read["value"].to_pylist() == [{"n": 1}, None, {"n": 2}]
    # Encoded again with the id before the value, a record loses the header that it had.
    file.write_text(JSON_NUMBER)
    mock_cluster.create_topic("u", partitions=1)
    again = ("produce", mock_cluster.bootstrap, "-t", "u", "--schema-registry", mock_registry.url)
    given = ["--value-format", "json", "--value-schema", f"@{file}", "--value-register"]
    done = ottla_here(*again, *given, "-H", f"{VALUE_ID}=x", stdin=b'{"n": 4}\n')
    assert (done.code, done.err) == (0, "")
    (row,) = pa.table(ottla.scan("u", mock_cluster.bootstrap, columns=["headers"])).to_pylist()
    assert not row["headers"]
    done = ottla_here(*write, "--value-wire-format", "none", stdin=lines)
    assert done.code != 0
    assert "--value-schema-id-serializer header has no effect" in done.err


def test_keys_are_decoded_alone(mock_registry: MockRegistry) -> None:
    registry = Registry(mock_registry.url)
    registry.register("t-key", ottla.schema.Schema('"long"'))
    registry.register("t-value", ottla.schema.Schema(NUMBER))
    both = Avro(registry)
    key, value = both.serialize("t", 4, key=True), both.serialize("t", {"n": 5})
    assert key is not None
    assert value is not None
    assert both.deserialize("t", key, key=True) == 4
    assert both.deserialize("t", value) == {"n": 5}
    with pytest.raises(errors.SerializationError, match="the key cannot be decoded"):
        both.deserialize("t", key + b"x", key=True)
    plain = Json(Number, wire_format="none")
    assert plain.deserialize("t", b'{"n": 3}', key=True) == Number(3)
    with pytest.raises(errors.SerializationError, match="key"):
        plain.deserialize("t", b"{}", key=True)
