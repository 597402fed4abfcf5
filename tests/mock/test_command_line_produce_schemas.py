"""``ottla produce`` of keys and values with a schema: it takes what ``ottla consume`` prints."""

from __future__ import annotations

import json
import math
import random
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ottla as package
from ottla.cli.consume.decoding import as_text
from ottla.cli.consume.json_values import as_json_value
from ottla.cli.produce.json_serializer import JsonSerializer
from ottla.schema import Avro, ColumnFormat, Json, Protobuf
from ottla.testing import MockCluster, MockRegistry, RegistryFault
from tests.support.command import CommandResult, ottla_here

ORDER = """{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "item", "type": ["null", "string"], "default": null}]}"""
NUMBERS = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
PROTO = """syntax = "proto3"; package shop;
message Other { int64 id = 1; }
message Order { int64 id = 1; map<int32, double> prices = 2; bytes data = 3; }"""

WITHOUT_IDS = ["--value-format", "avro", "--value-wire-format", "none", "--value-schema", "@FILE"]

ALL_TYPES = """{"type": "record", "name": "All", "fields": [
    {"name": "b", "type": "boolean"},
    {"name": "i", "type": "int"},
    {"name": "l", "type": "long"},
    {"name": "f", "type": "float"},
    {"name": "d", "type": "double"},
    {"name": "s", "type": "string"},
    {"name": "y", "type": "bytes"},
    {"name": "fixed", "type": {"type": "fixed", "name": "F", "size": 3}},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "money", "type":
        {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 10}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "milli_time", "type": {"type": "int", "logicalType": "time-millis"}},
    {"name": "micro_time", "type": {"type": "long", "logicalType": "time-micros"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
    {"name": "one_of", "type": ["null", "long", "string", {"type": "array", "items": "bytes"}]},
    {"name": "either", "type": ["int", "boolean"]},
    {"name": "maps", "type": {"type": "map", "values": {"type": "array", "items": [
        "null", {"type": "record", "name": "Item", "fields": [
            {"name": "n", "type": ["null", "double"]}]}]}}}]}"""


def random_value(random: random.Random) -> dict[str, Any]:
    """A value of ``ALL_TYPES``."""
    micros = timedelta(microseconds=1)
    local = datetime(1970, 1, 1)  # noqa: DTZ001 - it has no time zone
    epoch = local.replace(tzinfo=timezone.utc)
    seconds = random.randrange(-(2**34), 2**36)
    text = "".join(random.choices('a"\\ä\n\u20ac', k=random.randrange(5)))
    doubles = [0.1, -1e300, math.inf, -math.inf, 5e-324, 2.0**53]
    # Of both fields of a union, one is null.
    one_of = random.choice([None, random.randrange(2**60), text, [random.randbytes(2)]])
    return {
        "b": random.random() < 0.5,
        "i": random.randrange(-(2**31), 2**31),
        "l": random.choice([2**63 - 1, -(2**63), 0]),
        "f": random.choice([0.5, math.inf, 1.5e10]),
        "d": random.choice(doubles),
        "s": text,
        "y": random.randbytes(random.randrange(4)),
        "fixed": random.randbytes(3),
        "e": random.choice("AB"),
        "money": Decimal(random.randrange(-(10**29), 10**29)).scaleb(-10),
        "day": date.fromordinal(random.randrange(1, 3_000_000)),
        "milli_time": time(random.randrange(24), 5, 6, random.randrange(1000) * 1000),
        "micro_time": time(random.randrange(24), 5, 6, random.randrange(10**6)),
        "at": epoch + seconds * 1_000_000 * micros + random.randrange(10**6) * micros,
        "local": local + seconds * 1_000_000 * micros + random.randrange(1000) * 1000 * micros,
        "one_of": one_of,
        "either": random.choice([7, True]),
        "maps": {text: [None, {"n": None}, {"n": random.choice(doubles)}], "": []},
    }


def round_trip(format: ColumnFormat, data: bytes) -> bytes:
    """Encode what ``consume`` prints for a value."""
    text = as_text(as_json_value(format.deserialize("t", data)))
    assert text is not None
    return JsonSerializer(format, "value").serialize("t", text, [])


@pytest.mark.parametrize("seed", range(200))
def test_what_consume_prints_becomes_the_same_bytes(seed: int) -> None:
    format = Avro(schema=ALL_TYPES, wire_format="none")  # noqa: A001 - as elsewhere
    data = format.serialize("t", random_value(random.Random(seed)))
    assert data is not None
    assert round_trip(format, data) == data


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ('"string"', ["", "7", '"', "{}", "null"]),
        ('"long"', [0, -(2**63)]),
        ('"double"', [0.1, -0.0, math.inf]),
        ('"bytes"', [b"", b"\0\xff"]),
        ('{"type": "int", "logicalType": "date"}', [date(2026, 11, 25)]),
        (
            '{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}',
            [Decimal("-9.95")],
        ),
        ('{"type": "map", "values": "bytes"}', [{}, {"a": b"\0"}]),
        ('["null", "string"]', ["x"]),
        ('["string", "bytes"]', ["x"]),
        ('{"type": "array", "items": "string"}', [[], ["a", "\n"]]),
    ],
)
def test_values_that_are_not_records(schema: str, values: list[Any]) -> None:
    """A string is its own text, without quotes."""
    format = Avro(schema=schema, wire_format="none")  # noqa: A001 - as elsewhere
    for value in values:
        data = format.serialize("t", value)
        assert data is not None
        assert round_trip(format, data) == data


def test_protobuf_and_json() -> None:
    """Also durations, 64 unsigned bits, keys of maps that are no text, and text of any JSON."""
    text = """syntax = "proto3"; import "google/protobuf/duration.proto";
    import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
    message M { google.protobuf.Duration d = 1; uint64 u = 2; map<bool, int64> flags = 3;
        map<uint64, string> numbers = 4; google.protobuf.Timestamp at = 5; repeated bytes y = 6;
        google.protobuf.BoolValue w = 7; float f = 8; }"""
    protobuf = Protobuf(schema=text, wire_format="none")
    value = {
        "d": timedelta(seconds=-1.5),
        "u": Decimal(2**64 - 1),
        "flags": {True: 1, False: 2},
        "numbers": {Decimal(2**64 - 1): "x"},
        "at": datetime(2026, 11, 25, 12, 0, 0, 500, tzinfo=timezone.utc),
        "y": [b"", b"\1"],
        "w": False,
        "f": 0.1,
    }
    data = protobuf.serialize("t", value)
    assert data
    # The entries of a map have no order.
    assert protobuf.deserialize("t", round_trip(protobuf, data)) == protobuf.deserialize("t", data)
    schema = """{"type": "object", "properties": {"n": {"type": "integer"}, "any": {},
        "more": {"additionalProperties": {"type": "number"}}}}"""
    json_format = Json(schema=schema, wire_format="none")
    data = b'{"n":7,"any":[1, "x"],"more":{"a":0.5}}'
    assert json.loads(round_trip(json_format, data)) == json.loads(data)


def produce(
    cluster: MockCluster, registry: MockRegistry, topic: str, stdin: bytes, *arguments: str
) -> CommandResult:
    """Write lines to a topic, in Avro unless a format is given."""
    given = list(arguments)
    if "--value-format" not in given:
        given += ["--value-format", "avro"]
    given += ["--schema-registry", registry.url]
    return ottla_here("produce", cluster.bootstrap, "-t", topic, *given, stdin=stdin)


def consumed(cluster: MockCluster, registry: MockRegistry, topic: str, kind: str) -> list[str]:
    """The lines of a topic, as ``consume`` prints them."""
    given = ["--value-format", kind, "--schema-registry", registry.url, "-K", "="]
    done = ottla_here("consume", cluster.bootstrap, "-t", topic, "-e", *given)
    assert (done.code, done.err) == (0, "")
    return done.text.splitlines()


def test_lines_of_json_become_values(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """With the latest schema of the subject: fields that are left out have their defaults."""
    mock_registry.register(f"{single}-value", ORDER)
    lines = b'a:{"id": 1, "item": "pen"}\nb:{"id": 2}\nc:\n'
    done = produce(mock_cluster, mock_registry, single, lines, "-K", ":", "-Z", "-v")
    assert (done.code, done.err) == (0, "ottla: 3 records written, 0 failed\n")
    assert consumed(mock_cluster, mock_registry, single, "avro") == [
        'a={"id": 1, "item": "pen"}',
        'b={"id": 2, "item": null}',
        "c=",
    ]


def test_keys_have_a_format_of_their_own(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """Values stay bytes then."""
    schema_id = mock_registry.register(f"{single}-key", '"long"')
    given = ["--key-format", "avro", "--schema-registry", mock_registry.url, "-K", ":"]
    done = ottla_here("produce", mock_cluster.bootstrap, "-t", single, *given, stdin=b"7:v\nx:w\n")
    assert done.code == 1
    assert "record 2: " in done.err
    assert "the key" in done.err
    assert [record.key for record in read(mock_cluster, single)] == [
        b"\0" + schema_id.to_bytes(4, "big") + b"\x0e"
    ]


def read(cluster: MockCluster, topic: str) -> list[Any]:
    """The records of a topic."""
    with package.Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        (end,) = consumer.end_offsets((topic, 0)).values()
        records: list[Any] = []
        while len(records) < end:
            records += consumer.poll(timeout=10)
        return records


def test_a_schema_is_registered_only_if_asked(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str, tmp_path: Path
) -> None:
    """The schema of a file must be registered; ``--value-register`` registers it."""
    file = tmp_path / "order.avsc"
    file.write_text(ORDER)
    given = ["--value-schema", f"@{file}"]
    done = produce(mock_cluster, mock_registry, single, b'{"id": 1}\n', *given)
    assert done.code == 1
    assert "record 1: " in done.err
    assert f"{single}-value" in done.err
    assert mock_registry.subjects() == []
    done = produce(mock_cluster, mock_registry, single, b'{"id": 1}\n', *given, "--value-register")
    assert (done.code, done.err) == (0, "")
    assert mock_registry.subjects() == [f"{single}-value"]
    # It is, now; a subject may have any name.
    assert produce(mock_cluster, mock_registry, single, b'{"id": 2}\n', *given).code == 0
    given += ["--value-register", "--value-subject", "Order"]
    assert produce(mock_cluster, mock_registry, single, b'{"id": 3}\n', *given).code == 0
    assert mock_registry.subjects() == ["Order", f"{single}-value"]
    lines = consumed(mock_cluster, mock_registry, single, "avro")
    assert [json.loads(line.removeprefix("=")) for line in lines] == [
        {"id": number, "item": None} for number in (1, 2, 3)
    ]


def test_protobuf_of_a_file(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str, tmp_path: Path
) -> None:
    """The message is named; without ids no registry is needed."""
    file = tmp_path / "orders.proto"
    file.write_text(PROTO)
    given = ["--value-format", "protobuf", "--value-schema", f"@{file}"]
    given += ["--value-message", "shop.Order"]
    line = b'{"id": 7, "prices": {"5": 0.5}, "data": "eA=="}\n'
    done = produce(mock_cluster, mock_registry, single, line, *given, "--value-register")
    assert (done.code, done.err) == (0, "")
    given += ["--value-wire-format", "none"]
    done = ottla_here("produce", mock_cluster.bootstrap, "-t", single, *given, stdin=line)
    assert (done.code, done.err) == (0, "")
    first, second = (record.value for record in read(mock_cluster, single))
    # The id, and the indexes of the second message.
    assert first == b"\0\0\0\0\1\2\2" + second
    assert second == b"\x08\x07\x12\x0b\x08\x05\x11\0\0\0\0\0\0\xe0?\x1a\x01x"


def test_json_of_a_version_by_id(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    schema_id = mock_registry.register("Numbers", NUMBERS, "JSON")
    given = ["--value-format", "json", "--value-schema", str(schema_id)]
    done = produce(mock_cluster, mock_registry, single, b'{"n": 7}\n', *given)
    assert (done.code, done.err) == (0, "")
    assert [record.value for record in read(mock_cluster, single)] == [
        b"\0" + schema_id.to_bytes(4, "big") + b'{"n":7}'
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "it is not JSON: "),
        (b"", "it is empty: -Z sends empty keys and values as null"),
        (b"\xff", "'utf-8' codec can't decode"),
        (b'{"id": 1, "id": 2}', "the key 'id' occurs twice"),
        (b'{"id": 1, "itme": "x"}', 'the schema has no field "itme": its fields are id, item'),
        (b'{"item": "x"}', "id"),
        (b'{"id": 1.5}', "field id: expected an int, not Decimal"),
        (b'{"id": NaN}', "NaN is not a JSON value"),
        (b'{"id": 9223372036854775808}', "does not fit into Int64"),
        (b"[1]", "the value: expected an object, not list"),
        (b"[" * 100_000, "it is nested too deep"),
    ],
)
def test_a_line_that_is_no_value_is_an_error(
    mock_cluster: MockCluster,
    mock_registry: MockRegistry,
    single: str,
    line: bytes,
    message: str,
) -> None:
    """The records before it are written, and it is named by its number."""
    mock_registry.register(f"{single}-value", ORDER)
    lines = b'{"id": 1}\n' + line + b'\n{"id": 3}\n'
    done = produce(mock_cluster, mock_registry, single, lines)
    assert done.code == 1
    assert "ottla: record 2: " in done.err
    assert message in done.err
    assert done.err.endswith("ottla: 1 record written, 1 failed: record 2 of the input\n")
    assert len(read(mock_cluster, single)) == 1


TYPED = """{"type": "record", "name": "R", "fields": [
    {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
    {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"},
        "default": 0},
    {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}, "default": 0},
    {"name": "data", "type": "bytes", "default": ""},
    {"name": "ratio", "type": "double", "default": 0},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale":
        2}, "default": "\\u0000"},
    {"name": "tags", "type": {"type": "array", "items": "int"}, "default": []}]}"""


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("day", "2026-02-30", "field day: expected a date such as 2026-11-24, not '2026-02-30'"),
        ("day", 7, "field day: expected a date such as 2026-11-24, not int"),
        ("at", "2026-11-24T10:00:00", "a timestamp with an offset, such as"),
        ("at", "2026-11-24T10:00:00.0001Z", "which the schema's type does not have"),
        ("local", "2026-11-24T10:00:00Z", "a timestamp without an offset, such as"),
        ("local", "2026-11-24T10:00:00.0000001", "a timestamp without an offset, such as"),
        ("clock", "24:00:00", "expected a time such as 23:59:59.5"),
        ("clock", "23:59:60", "expected a time such as 23:59:59.5"),
        ("clock", "10:00:00.0001", "which the schema's type does not have"),
        ("data", "=", "expected bytes in base64"),
        ("ratio", "half", "expected a number, not 'half'"),
        ("ratio", True, "expected a float, not bool"),
        ("price", "1.234", "more than 2 digits after the point"),
        ("price", "free", "expected a decimal, not 'free'"),
        ("price", "123", "more than 4 digits"),
        ("tags", {"a": 1}, "field tags: expected an array, not dict"),
        ("tags", ["1"], "field tags: expected an int, not str"),
    ],
)
def test_values_of_other_types_are_errors(field: str, value: object, message: str) -> None:
    serializer = JsonSerializer(Avro(schema=TYPED, wire_format="none"), "value")
    with pytest.raises((TypeError, ValueError)) as raised:
        serializer.serialize("t", json.dumps({field: value}).encode(), [])
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("field", "value", "decoded"),
    [
        ("at", "2026-11-24 10:00:00.5+01:00", "2026-11-24T09:00:00.500000Z"),
        ("local", "2026-11-24T10:00:00.1000000", "2026-11-24T10:00:00.100000"),
        ("clock", "10:00:00.5", "10:00:00.500000"),
        ("price", 1.5, "1.50"),
        ("price", 7, "7.00"),
        ("ratio", "NaN", "NaN"),
        ("ratio", 7, 7.0),
    ],
)
def test_other_forms_of_the_same_value(field: str, value: object, decoded: object) -> None:
    format = Avro(schema=TYPED, wire_format="none")  # noqa: A001 - as elsewhere
    data = JsonSerializer(format, "value").serialize("t", json.dumps({field: value}).encode(), [])
    assert as_json_value(format.deserialize("t", data))[field] == decoded


def test_a_registry_that_fails_ends_the_command(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """The error has the cause, and nothing is written."""
    done = produce(mock_cluster, mock_registry, single, b'{"id": 1}\n')
    assert done.code == 1
    assert f'subject "{single}-value" does not exist' in done.err
    mock_registry.inject(RegistryFault.status(503), path="/subjects")
    short = ["-X", "schema.registry.default.api.timeout.ms=300"]
    done = produce(mock_cluster, mock_registry, single, b'{"id": 1}\n', *short)
    assert done.code == 1
    assert "did not succeed" in done.err
    assert read(mock_cluster, single) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--value-register"], "--value-register has no effect without --value-format"),
        (
            ["--value-format", "avro", "--value-register", "--schema-registry", "http://r"],
            "--value-register needs the schema: give --value-schema @FILE",
        ),
        (
            [*WITHOUT_IDS, "--value-register"],
            "--value-register has no effect with --value-wire-format none",
        ),
        (
            [*WITHOUT_IDS, "--value-subject", "x"],
            "--value-subject has no effect with this --value-schema",
        ),
        (["--value-format", "avro"], "no schema registry is configured: give --schema-registry"),
        (["--value-format", "avro", "--value-wire-format", "glue"], "invalid choice: 'glue'"),
        (["--schema-registry", "http://r"], "--schema-registry has no effect without"),
    ],
)
def test_wrong_arguments(
    mock_cluster: MockCluster, single: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(ORDER)
    given = [word.replace("@FILE", f"@{file}") for word in arguments]
    done = ottla_here("produce", mock_cluster.bootstrap, "-t", single, *given)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err.replace(f"@{file}", "@FILE")
