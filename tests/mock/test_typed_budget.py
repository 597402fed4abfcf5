"""A schema that multiplies bytes: batches end early, and every record is read once."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla.admin import ConfigResource
from ottla.errors import SchemaError, SerializationError
from ottla.schema import Avro, Protobuf, Registry
from ottla.testing import MockCluster, MockRegistry
from tests.support.consumers import KINDS, SHARE_KINDS, TIMEOUT

ENUM = {"type": "enum", "name": "E", "symbols": ["A" * 60_000]}
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "n", "type": "long"},
            {"name": "a", "type": {"type": "array", "items": ENUM}},
        ],
    }
)
"""Each item is a byte, and 60 kB in its column; the budget of a batch is 128 MiB."""
ROWS = 20
BAD = 11
ITEMS = 250
MOST = 160 << 20


def row(number: int) -> bytes:
    """A number, and items that take 15 MB, or almost a gigabyte."""
    items = 16_000 if number == BAD else ITEMS
    # The number of items, in zigzag form.
    count = [2 * items & 0x7F | 0x80, 2 * items >> 7 & 0x7F | 0x80, 2 * items >> 14]
    return bytes([number << 1, *count]) + bytes(items) + b"\0"


def check(value: Any, number: int) -> None:
    assert value["n"] == number
    assert len(value["a"]) == ITEMS


def numbers_of(batch: pa.RecordBatch) -> list[Any]:
    values = batch["value"]
    numbers, valid = values.field("n").to_pylist(), values.is_valid().to_pylist()
    return [numbers[at] if valid[at] else None for at in range(len(values))]


@pytest.fixture
def numbers(mock_cluster: MockCluster, single: str) -> str:
    """Twenty records of a few bytes, one of which becomes almost a gigabyte."""
    mock_cluster.append(single, 0, [row(number) for number in range(ROWS)])
    return single


@pytest.mark.parametrize("kind", KINDS)
def test_batches_end_early(mock_cluster: MockCluster, numbers: str, kind: str) -> None:
    values = Avro(schema=SCHEMA, wire_format="none", mode="permissive")
    with KINDS[kind](mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(numbers, 0)])
        read: list[int | None] = []
        errors: list[str] = []
        while len(read) < ROWS:
            batch = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT, value_format=values))
            assert batch.nbytes < MOST
            read += numbers_of(batch)
            errors += [error for error in batch["_error"].to_pylist() if error is not None]
            assert consumer.position(numbers, 0) == len(read)
    assert read == [None if number == BAD else number for number in range(ROWS)]
    assert len(errors) == 1
    assert "the schema multiplies" in errors[0]


def test_a_scan_ends_batches_early(mock_cluster: MockCluster, numbers: str) -> None:
    values = Avro(schema=SCHEMA, wire_format="none")
    read: list[int] = []

    def read_all() -> None:
        for each in ottla.scan(numbers, mock_cluster.bootstrap, value_format=values):
            batch = pa.record_batch(each)
            assert batch.nbytes < MOST
            read.extend(numbers_of(batch))

    with pytest.raises(SerializationError, match="the schema multiplies") as caught:
        read_all()
    assert read == list(range(BAD))
    assert caught.value.context == {"topic": numbers, "partition": 0, "offset": BAD}


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_decoded_in_parts(mock_cluster: MockCluster, numbers: str, kind: str) -> None:
    values = Avro(schema=SCHEMA, wire_format="none")
    with KINDS[kind](
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=values
    ) as consumer:
        consumer.assign([(numbers, 0)])
        read: list[int] = []
        while len(read) < BAD:
            for record in consumer.poll(timeout=TIMEOUT):
                check(record.value, record.offset)
                read.append(record.offset)
        with pytest.raises(SerializationError, match="the schema multiplies") as caught:
            consumer.poll(timeout=TIMEOUT)
        assert caught.value.context["offset"] == BAD
        consumer.seek(numbers, 0, BAD + 1)
        for record in consumer:
            check(record.value, record.offset)
            read.append(record.offset)
            if record.offset == ROWS - 1:
                break
    assert read == [number for number in range(ROWS) if number != BAD]


@pytest.mark.parametrize("kind", SHARE_KINDS)
def test_acquired_records_are_decoded_in_parts(
    mock_cluster: MockCluster, numbers: str, kind: str
) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        group = ConfigResource("group", "g")
        admin.alter_configs({group: {"share.auto.offset.reset": "earliest"}})
    values = Avro(schema=SCHEMA, wire_format="none")
    with SHARE_KINDS[kind](
        mock_cluster.bootstrap,
        topics=[numbers],
        group_id="g",
        share_acknowledgement_mode="explicit",
        value_deserializer=values,
    ) as consumer:
        read: list[int] = []
        failed: list[int | None] = []
        while len(read) < ROWS - 1:
            try:
                records = consumer.poll(timeout=TIMEOUT)
            except SerializationError as error:
                failed.append(error.context["offset"])
                consumer.acknowledge_offsets(numbers, 0, BAD, type=ottla.AcknowledgeType.REJECT)
                continue
            for record in records:
                check(record.value, record.offset)
                read.append(record.offset)
            consumer.acknowledge_all()
    assert read == [number for number in range(ROWS) if number != BAD]
    assert failed == [BAD]


def test_one_value_that_takes_too_much_is_an_error() -> None:
    values = Avro(schema=SCHEMA, wire_format="none")
    check(values.deserialize("t", row(3)), 3)
    with pytest.raises(SerializationError, match="the schema multiplies"):
        values.deserialize("t", row(BAD))


def test_limits_of_constants_are_named() -> None:
    fixed = json.dumps({"type": "fixed", "name": "F", "size": 2**31 - 1})
    symbols = json.dumps({"type": "enum", "name": "E", "symbols": ["A" * 4_000_000]})
    for values, limit in (
        (Avro(schema=fixed, wire_format="none"), "limit of a fixed type is 16777216 bytes"),
        (Avro(schema=symbols, wire_format="none"), "limit of a name is 65536 bytes"),
    ):
        with pytest.raises(SchemaError, match=limit):
            values.arrow_type()


def test_a_schema_that_is_nested_too_deep_is_an_error_of_its_records(
    mock_cluster: MockCluster, single: str
) -> None:
    """The registry has it under an id of a record: the records before and after it are read."""
    deep = "o {" * 4_000 + "}" * 4_000
    import_ = 'import "google/protobuf/descriptor.proto";'
    text = (
        f'syntax = "proto3"; {import_} message A {{ option (my) = {{ {deep} }}; int32 a = 1; }} '
        "message O { optional O o = 1; } "
        "extend google.protobuf.MessageOptions { optional O my = 50000; }"
    )
    registry = MockRegistry()
    good = registry.register(
        f"{single}-value", 'syntax = "proto3"; message A { int32 a = 1; }', "PROTOBUF"
    )
    bad = registry.register("other", text, "PROTOBUF")
    written = [b"\0" + each.to_bytes(4, "big") + b"\0\x08\x05" for each in (good, bad, good)]
    mock_cluster.append(single, 0, written)
    values = Protobuf(Registry(registry.url), mode="permissive")
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        batch = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT, value_format=values))
    assert batch["value"].to_pylist() == [{"a": 5}, None, {"a": 5}]
    assert "nested more than 40 levels deep" in batch["_error"].to_pylist()[1]


def test_googles_common_types_need_no_reference(mock_cluster: MockCluster, single: str) -> None:
    registry = MockRegistry()
    registry.register(
        f"{single}-value",
        'syntax = "proto3"; import "google/type/money.proto"; import "google/type/date.proto"; '
        "message Sale { google.type.Money price = 1; google.type.Date day = 2; }",
        "PROTOBUF",
    )
    values = Protobuf(Registry(registry.url))
    sale = {
        "price": {"currency_code": "EUR", "units": 5, "nanos": 500_000_000},
        "day": {"year": 2026, "month": 11, "day": 25},
    }
    with ottla.Producer(mock_cluster.bootstrap, value_serializer=values) as producer:
        producer.send(single, sale)
    with ottla.Consumer(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=values
    ) as consumer:
        consumer.assign([(single, 0)])
        [record] = consumer.poll(timeout=TIMEOUT)
    assert record.value == sale
