"""Records of Apicurio's and AWS Glue's serializers: their ids, and the schemas to read with."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.schema import Avro, Json, Protobuf, Registry
from ottla.testing import MockCluster, MockRegistry

LONG, TEXT = '"long"', '"string"'
PROTO = """syntax = "proto3"; package p;
message Other { int32 y = 1; }
message Order { int32 x = 1; }"""


@pytest.fixture
def apicurio() -> Iterator[MockRegistry]:
    """A registry at Apicurio's path: content 1 has global ids 1 and 2, and content 2 has 3."""
    with MockRegistry(path="/apis/ccompat/v7") as registry:
        registry.register("a-value", LONG)
        registry.register("b-value", LONG)
        registry.register("c-value", TEXT)
        yield registry


def framed(schema_id: int, size: int, payload: bytes) -> bytes:
    """Return a value as Apicurio's serializers write it."""
    return b"\0" + schema_id.to_bytes(size, "big") + payload


@pytest.mark.parametrize("size", [4, 8])
def test_ids_of_both_sizes_and_kinds_are_looked_up(apicurio: MockRegistry, size: int) -> None:
    """The same bytes are a content's id or a global id, as the configuration says."""
    with Registry(apicurio.url, apicurio_use_id="globalId") as registry:
        value = Avro(registry, schema=LONG, wire_format="apicurio")
        assert [value.deserialize("a", framed(n, size, b"\x0e")) for n in (1, 2)] == [7, 7]
        with pytest.raises(errors.SerializationError, match="no version with this global id"):
            value.deserialize("a", framed(9, size, b"\x0e"))
        text = Avro(registry, schema=TEXT, wire_format="apicurio")
        assert text.deserialize("a", framed(3, size, b"\2x")) == "x"
    with Registry(apicurio.url, {"apicurio.use.id": "contentId"}) as registry:
        text = Avro(registry, schema=TEXT, wire_format="apicurio")
        assert text.deserialize("a", framed(2, size, b"\2x")) == "x"
        with pytest.raises(errors.SerializationError, match=r"apicurio\.use\.id is wrong"):
            text.deserialize("a", framed(3, size, b"\2x"))


def test_ids_in_headers_say_their_kind(apicurio: MockRegistry) -> None:
    """A header wins over the bytes, and over what is configured for ids without a kind."""
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        text = Avro(registry, schema=TEXT, wire_format="apicurio")
        three = [("apicurio.value.globalId", (3).to_bytes(8, "big"))]
        assert text.deserialize("a", b"\2x", three) == "x"
        two = [("apicurio.value.contentId", (2).to_bytes(8, "big"))]
        assert text.deserialize("a", b"\2x", two) == "x"
        assert text.deserialize("a", framed(2, 4, b"\2x"), [("other", b"")]) == "x"
        assert text.deserialize("a", b"\2x", [*two, ("apicurio.value.encoding", b"BINARY")]) == "x"
        encoded = [*two, ("apicurio.value.encoding", b"JSON")]
        with pytest.raises(errors.SerializationError, match="Avro in JSON"):
            text.deserialize("a", b'"x"', encoded)
        with pytest.raises(errors.SerializationError, match="4 bytes, but an Apicurio id"):
            text.deserialize("a", b"\2x", [("apicurio.value.contentId", b"1234")])
        nine = [("apicurio.value.globalId", (9).to_bytes(8, "big"))]
        with pytest.raises(errors.SerializationError, match=r"it was deleted, or the data was"):
            text.deserialize("a", b"\2x", nine)


def test_ids_in_headers_of_a_batch(
    apicurio: MockRegistry, mock_cluster: MockCluster, single: str
) -> None:
    """Those of keys and of values, in columns of Arrow and in records."""
    one, two = ((number).to_bytes(8, "big") for number in (1, 2))
    headers = [("apicurio.key.globalId", one), ("apicurio.value.contentId", two)]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, b"\2x", key=b"\x0e", headers=headers)
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        key = Avro(registry, schema=LONG, wire_format="apicurio")
        value = Avro(registry, schema=TEXT, wire_format="apicurio")
        scan = ottla.scan(single, mock_cluster.bootstrap, key_format=key, value_format=value)
        assert [row[:2] for batch in scan for row in batch.rows()] == [(7, "x")]
        with ottla.Consumer(
            mock_cluster.bootstrap,
            auto_offset_reset="earliest",
            key_deserializer=key,
            value_deserializer=value,
        ) as consumer:
            consumer.assign([(single, 0)])
            assert [(record.key, record.value) for record in consumer.poll(timeout=10)] == [
                (7, "x")
            ]


@pytest.mark.parametrize("size", [4, 8])
def test_messages_have_a_name_after_the_id(apicurio: MockRegistry, size: int) -> None:
    """Protobuf's serializer of Apicurio writes the message's name, with either id."""
    content_id = apicurio.register("p-value", PROTO, "PROTOBUF")
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        value = Protobuf(registry, message="p.Order", wire_format="apicurio")
        payload = b"\x07\x0a\x05Order" + b"\x08\x07"
        assert value.deserialize("p", framed(content_id, size, payload)) == {"x": 7}


def test_values_are_written_with_ids_of_contents(apicurio: MockRegistry) -> None:
    """That is what Confluent's API returns; readers of global ids would find other schemas."""
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        value = Avro(registry, subject="c-value", wire_format="apicurio")
        assert value.serialize("c", "x") == framed(2, 8, b"\2x")
        assert value.deserialize("c", framed(2, 8, b"\2x")) == "x"
    with Registry(apicurio.url, apicurio_use_id="globalId") as registry:
        value = Avro(registry, subject="c-value", wire_format="apicurio")
        with pytest.raises(errors.ConfigError, match="encoded with ids of contents"):
            value.serialize("c", "x")


def test_headers_of_other_bytes_do_not_stay(
    apicurio: MockRegistry, mock_cluster: MockCluster, single: str
) -> None:
    """A record that is passed on may have headers with ids, which would win over the new one."""
    stale = [
        ("apicurio.value.globalId", (1).to_bytes(8, "big")),
        ("apicurio.value.contentId", (1).to_bytes(8, "big")),
        ("apicurio.value.encoding", b"JSON"),
        ("apicurio.protobuf.type", b"Order"),
        ("apicurio.key.contentId", (1).to_bytes(8, "big")),
        ("own", b"x"),
    ]
    kept = ["apicurio.key.contentId", "own"]
    with Registry(apicurio.url, apicurio_use_id="contentId") as registry:
        value = Avro(registry, subject="c-value", wire_format="apicurio")
        headers = list(stale)
        data = value.serialize("c", "x", headers)
        assert [name for name, _ in headers] == kept
        assert data is not None
        assert value.deserialize("c", data, headers) == "x"
        with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
            producer.send(single, "x", headers=stale)
            producer.send_batch(single, ["y"], headers=[stale])
        with ottla.Consumer(
            mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=value
        ) as consumer:
            consumer.assign([(single, 0)])
            records: list[Any] = []
            while len(records) < 2:
                records += consumer.poll(timeout=10)
    assert [record.value for record in records] == ["x", "y"]
    assert [[name for name, _ in record.headers] for record in records] == [kept, kept]


def test_the_kind_of_ids_must_be_set(apicurio: MockRegistry) -> None:
    """Without it, the format is refused when it is created, and nothing is looked up."""
    with Registry(apicurio.url) as registry:
        with pytest.raises(errors.ConfigError, match=r"apicurio\.use\.id must be set"):
            Avro(registry, wire_format="apicurio")
        assert apicurio.requests() == []
    with pytest.raises(errors.ConfigError, match="expected contentId or globalId"):
        Registry(apicurio.url, apicurio_use_id="guid")


def glue(payload: bytes) -> bytes:
    """Return a value as AWS Glue's serializers write it, with a schema version of its own."""
    return b"\3\0" + uuid.uuid4().bytes + payload


def test_glues_records_are_read_with_the_given_schema() -> None:
    """Their ids cannot be looked up, and the given schema is the writers', too."""
    assert Avro(schema=LONG, wire_format="glue").deserialize("t", glue(b"\x0e")) == 7
    schema = json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})
    assert Json(schema=schema, wire_format="glue").deserialize("t", glue(b'{"id": 7}')) == {"id": 7}
    value = Protobuf(schema=PROTO, message="p.Order", wire_format="glue")
    # Order is the first of the messages by their names.
    assert value.deserialize("t", glue(b"\0" + b"\x08\x07")) == {"x": 7}
    with pytest.raises(errors.SerializationError, match="compressed"):
        value.deserialize("t", b"\3\5" + bytes(16))


def test_nothing_is_encoded_for_glue() -> None:
    """Its registry would have to know the schema."""
    with pytest.raises(errors.ConfigError, match='"glue" is for decoding'):
        Avro(schema=LONG, wire_format="glue").serialize("t", 7)


def test_glue_needs_a_schema_and_no_registry(mock_registry: MockRegistry) -> None:
    """A registry with Confluent's API is not asked for AWS Glue's ids."""
    with Registry(mock_registry.url) as registry:
        cases: list[dict[str, Any]] = [{}, {"registry": registry}, {"schema": 7}]
        cases += [{"registry": registry, "schema": LONG}]
        for arguments in cases:
            with pytest.raises(errors.ConfigError, match="AWS Glue cannot be looked up"):
                Avro(**arguments, wire_format="glue")
    assert mock_registry.requests() == []
