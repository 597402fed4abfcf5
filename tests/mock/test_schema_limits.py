"""The limits of schemas are settings of a format: of every read and write, Spark, and commands."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla.errors import ArgumentTypeError, ConfigError, SchemaError, SerializationError
from ottla.schema import Avro, Json, Protobuf
from ottla.testing import MockCluster
from tests.support.command import ottla_here

SIZE = 17 << 20
LARGE = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "n", "type": "int"},
            {"name": "f", "type": ["null", {"type": "fixed", "name": "F", "size": SIZE}]},
        ],
    }
)
KEY = "schema.fixed.max.bytes"
RAISED = {KEY: SIZE}


def large(**options: Any) -> Avro:
    """Return a format of a fixed type that is larger than the default limit."""
    return Avro(schema=LARGE, wire_format="none", **options)


@pytest.fixture
def nulls(mock_cluster: MockCluster, single: str) -> str:
    """Two records of two bytes, the second field of which is null."""
    mock_cluster.append(single, 0, [b"\x02\0", b"\x04\0"])
    return single


def test_a_raised_limit_reads_what_the_default_refuses(
    mock_cluster: MockCluster, nulls: str
) -> None:
    servers: dict[str, Any] = {
        "bootstrap_servers": mock_cluster.bootstrap,
        "auto_offset_reset": "earliest",
    }
    expected = [{"n": 1, "f": None}, {"n": 2, "f": None}]
    with ottla.Consumer(**servers) as consumer:
        consumer.assign([(nulls, 0)])
        with pytest.raises(SchemaError, match=KEY):
            consumer.poll_arrow(timeout=20.0, value_format=large())
        batch = pa.record_batch(
            consumer.poll_arrow(timeout=20.0, value_format=large(limits=RAISED))
        )
        assert batch["value"].to_pylist() == expected
    with ottla.Consumer(**servers, value_deserializer=large(limits=RAISED)) as consumer:
        consumer.assign([(nulls, 0)])
        assert [record.value for record in consumer.poll(timeout=20.0)] == expected
    with pytest.raises(SchemaError, match=KEY):
        ottla.scan(nulls, mock_cluster.bootstrap, value_format=large())
    scan = ottla.scan(nulls, mock_cluster.bootstrap, value_format=large(limits=RAISED))
    assert pa.RecordBatchReader.from_stream(scan).read_all()["value"].to_pylist() == expected


def test_a_raised_limit_writes_what_the_default_refuses() -> None:
    with pytest.raises(SchemaError, match=KEY):
        large().serialize("t", {"n": 1})
    assert large(limits=RAISED).serialize("t", {"n": 1, "f": None}) == b"\x02\0"


def test_a_lowered_limit_refuses_and_names_its_key() -> None:
    def refusal(of: type[Avro | Protobuf | Json], schema: str, **limits: int) -> str:
        with pytest.raises((SchemaError, SerializationError)) as raised:
            of(schema=schema, wire_format="none", limits=limits).deserialize("t", b"\x00")
        return str(raised.value)

    record = '{"type": "record", "name": "Rec", "fields": [{"name": "number", "type": "int"}]}'
    assert "schema.name.max.bytes" in refusal(Avro, record, schema_name_max_bytes=5)
    message = 'syntax = "proto3"; message M { int32 number = 1; }'
    assert "schema.name.max.bytes" in refusal(Protobuf, message, name_max_bytes=5)
    document = '{"properties": {"number": {"type": "integer"}}}'
    assert "schema.name.max.bytes" in refusal(Json, document, name_max_bytes=5)
    enum = '{"type": "enum", "name": "E", "symbols": ["' + "A" * 200 + '"]}'
    items = '{"type": "array", "items": ' + enum + "}"
    batch = Avro(schema=items, wire_format="none", limits={"batch.max.bytes": 1_000})
    with pytest.raises(SerializationError, match=r"schema\.batch\.max\.bytes"):
        batch.deserialize("t", b"\x3c" + bytes(30) + b"\0")


def test_a_lowered_budget_ends_batches(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.append(single, 0, [b"\x02"] * 100)
    value = Avro(schema='"long"', wire_format="none", limits={"schema.batch.max.bytes": 80})
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        batch = pa.record_batch(consumer.poll_arrow(timeout=20.0, value_format=value))
        assert 0 < batch.num_rows < 20


@pytest.mark.parametrize(
    ("limits", "fragments"),
    [
        ({KEY: 0}, [KEY, "between 1 and 1073741824"]),
        ({KEY: 2**30 + 1}, [KEY, "between 1 and 1073741824"]),
        ({"schema.name.max.bytes": 2**22 + 1}, ["schema.name.max.bytes", "4194304"]),
        ({KEY: "much"}, [KEY, "whole number"]),
        ({KEY: True}, [KEY, "whole number"]),
        ({"schema.fixd.max.bytes": 1}, ["did you mean", KEY]),
    ],
)
def test_wrong_limits_name_the_key(limits: dict[str, Any], fragments: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        large(limits=limits)
    assert all(fragment in str(raised.value) for fragment in fragments), raised.value


def test_limits_are_a_mapping() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"limits is of type str: expected a mapping, such as"
    ):
        large(limits="abc")


def test_commands_take_the_limits(mock_cluster: MockCluster, nulls: str, tmp_path: Any) -> None:
    schema = tmp_path / "large.avsc"
    schema.write_text(LARGE)
    command = ["consume", mock_cluster.bootstrap, "-t", nulls, "-e", "--value-format", "avro"]
    command += [f"--value-schema=@{schema}", "--value-wire-format=none"]
    refused = ottla_here(*command)
    assert refused.code != 0
    assert KEY in refused.err
    done = ottla_here(*command, "-X", f"{KEY}={SIZE}")
    assert done.code == 0, done.err
    assert [json.loads(line)["n"] for line in done.out.splitlines()] == [1, 2]
    unused = ottla_here("consume", mock_cluster.bootstrap, "-t", nulls, "-e", "-X", f"{KEY}=1")
    assert "no effect without" in unused.err
