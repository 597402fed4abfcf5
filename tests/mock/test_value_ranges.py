"""Values at and beyond the limits of their types: one behaviour in every route, no wrong value."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.console import serve
from ottla.schema import Avro, Json, Protobuf
from ottla.testing import MockCluster, MockRegistry
from tests.support.command import ottla_here
from tests.support.consumers import KINDS, TIMEOUT

# The first moments that the classes of `datetime` do not have.
_YEAR_10000 = 253_402_300_800
_YEAR_0 = -62_135_596_801
UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What 64 bits of microseconds hold, in milliseconds.
_LAST = 2**63 // 1000


def zigzag(*numbers: int) -> bytes:
    """Encode numbers as Avro's ints and longs."""
    out = bytearray()
    for number in numbers:
        bits = (number << 1) ^ (number >> 63)
        while bits > 0x7F:
            out.append(bits & 0x7F | 0x80)
            bits >>= 7
        out.append(bits)
    return bytes(out)


def record(logical: str, base: str, **options: Any) -> Avro:
    """Return a format for records of a time, and a number."""
    of_time = {"type": base, "logicalType": logical}
    fields = [{"name": "x", "type": of_time}, {"name": "n", "type": "int"}]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    return Avro(schema=schema, wire_format="none", **options)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.fixture
def poisoned(mock_cluster: MockCluster, single: str) -> str:
    """A topic of three records, of which the second is in the year 10000."""
    times = [0, _YEAR_10000 * 1000, 1]
    mock_cluster.append(single, 0, [zigzag(time, n) for n, time in enumerate(times)])
    return single


def test_a_record_beyond_datetime_is_an_error_of_its_own(
    mock_cluster: MockCluster, poisoned: str, kind: Any
) -> None:
    """Records before it are delivered; it is named, and can be skipped."""
    value = record("timestamp-millis", "long")
    options = {"auto_offset_reset": "earliest", "value_deserializer": value}
    consumer = kind(mock_cluster.bootstrap, **options)
    try:
        consumer.assign([(poisoned, 0)])
        [first] = consumer.poll(timeout=TIMEOUT)
        assert first.value == {"x": EPOCH, "n": 0}
        for _ in range(2):
            with pytest.raises(errors.SerializationError, match=r"value .* field x: .* years 1 to"):
                consumer.poll(timeout=TIMEOUT)
        with pytest.raises(errors.SerializationError) as raised:
            consumer.poll(timeout=TIMEOUT)
        context = raised.value.context
        assert (context["topic"], context["partition"], context["offset"]) == (poisoned, 0, 1)
        assert consumer.position(poisoned, 0) == 1
        consumer.seek(poisoned, 0, 2)
        assert [found.value["n"] for found in consumer.poll(timeout=TIMEOUT)] == [2]
    finally:
        consumer.close()


def test_columns_keep_a_time_that_rows_cannot_have(
    mock_cluster: MockCluster, poisoned: str
) -> None:
    """Rows name its record, or have None and the reason beside those that other rows have."""

    def batch(mode: str) -> ottla.RecordBatch:
        scan = ottla.scan(
            poisoned,
            mock_cluster.bootstrap,
            value_format=record("timestamp-millis", "long", mode=mode),
        )
        [found] = list(scan)
        return found

    strict = batch("failfast")
    columns = pa.record_batch(strict)
    columns.validate(full=True)
    assert columns.column("value").field("x").cast(pa.int64()).to_pylist()[1] == _YEAR_10000 * 1000
    with pytest.raises(errors.SerializationError, match=rf"field x: .*\[{poisoned}-0, offset 1\]"):
        strict.rows()
    assert "years 1 to 9999" in strict._repr_html_()
    lenient = batch("permissive").rows()
    assert [row[1] for row in lenient] == [
        {"x": EPOCH, "n": 0},
        None,
        {"x": EPOCH.replace(microsecond=1000), "n": 2},
    ]
    assert [row[-1] is None for row in lenient] == [True, False, True]
    assert lenient[1][-1].startswith("value: field x: ")


@pytest.mark.parametrize(
    ("logical", "base", "number"),
    [
        ("date", "int", _YEAR_10000 // 86_400),
        ("date", "int", _YEAR_0 // 86_400),
        ("date", "int", 2**31 - 1),
        ("timestamp-millis", "long", _YEAR_10000 * 1000),
        ("timestamp-millis", "long", 2**63 - 1),
        ("timestamp-micros", "long", _YEAR_0 * 10**6),
        ("local-timestamp-millis", "long", -(2**63)),
        ("time-millis", "int", -1),
        ("time-millis", "int", 86_400_000),
        ("time-micros", "long", 2**62),
        ("time-micros", "long", 86_400_000_000),
    ],
)
def test_no_object_is_made_of_a_number_beyond_its_class(
    logical: str, base: str, number: int
) -> None:
    """The error is that of a value that cannot be decoded; its neighbours within are values."""
    with pytest.raises(errors.SerializationError, match="cannot be decoded"):
        record(logical, base).deserialize("t", zigzag(number, 1))


@pytest.mark.parametrize(
    ("logical", "base", "unit"), [("time-millis", "int", 1000), ("time-micros", "long", 10**6)]
)
@pytest.mark.parametrize("bad", [-26, 86_400, 2**31 // 1000])
def test_a_time_that_is_not_within_a_day_is_an_error_of_its_row(
    mock_cluster: MockCluster, single: str, logical: str, base: str, unit: int, bad: int
) -> None:
    """No array holds it, which Arrow's own check would refuse."""
    times = [0, bad * unit if bad > 0 else bad, 86_400 * unit - 1]
    mock_cluster.append(single, 0, [zigzag(time, n) for n, time in enumerate(times)])
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        found = consumer.poll_arrow(
            timeout=TIMEOUT, value_format=record(logical, base, mode="permissive")
        )
    columns = pa.record_batch(found)
    columns.validate(full=True)
    assert [value and value["n"] for value in columns.column("value").to_pylist()] == [0, None, 2]
    assert "is not a time of day" in columns.column("_error")[1].as_py()


def test_a_time_of_an_array_that_is_not_within_a_day_is_not_written(
    producer: ottla.Producer, single: str
) -> None:
    """Arrow libraries do not check the numbers of arrays that they make."""
    times = pa.array([1, -26], pa.int32()).view(pa.time32("ms"))
    rows = pa.table({"value": pa.StructArray.from_arrays([times, pa.array([1, 2])], ["x", "n"])})
    with pytest.raises(errors.SerializationError, match=r"row 1.* not a time of day"):
        producer.send_batch(single, rows, value_format=record("time-millis", "int"))


def test_the_command_line_prints_the_rest(
    mock_cluster: MockCluster, mock_registry: MockRegistry, poisoned: str
) -> None:
    """Also as a member of a group, which moves on."""
    of_time = {"type": "long", "logicalType": "timestamp-millis"}
    fields = [{"name": "x", "type": of_time}, {"name": "n", "type": "int"}]
    schema = {"type": "record", "name": "R", "fields": fields}
    mock_registry.register(f"{poisoned}-value", json.dumps(schema))
    arguments = ["--value-format", "avro", "--value-wire-format", "none"]
    arguments += ["--schema-registry", mock_registry.url]
    for more in (["-e"], ["--last", "3"], ["-e", "-G", "readers"]):
        done = ottla_here("consume", mock_cluster.bootstrap, "-t", poisoned, *arguments, *more)
        assert [json.loads(line)["n"] for line in done.text.splitlines()] == [0, 2]
        assert done.code == 1
        assert f"{poisoned}-0 at offset 1 cannot be decoded: value: field x: " in done.err
    assert mock_cluster.committed("readers") == {(poisoned, 0): 3}


def test_the_console_shows_the_rest(
    mock_cluster: MockCluster, mock_registry: MockRegistry, client: ottla.Client, single: str
) -> None:
    """The address of a registry suffices."""
    schema = {"type": "long", "logicalType": "timestamp-micros"}
    schema_id = mock_registry.register(f"{single}-value", json.dumps(schema))
    prefix = b"\0" + schema_id.to_bytes(4, "big")
    mock_cluster.append(single, 0, [prefix + zigzag(n) for n in (0, _YEAR_10000 * 10**6, 1)])
    with serve(client, schema_registry=mock_registry.url, token=False) as console:
        found = fetch(f"{console.url}api/messages?topic={single}&value_format=avro")
    errors_shown = [each["error"] for each in found["records"]]
    assert [error is None for error in errors_shown] == [True, False, True]
    assert "years 1 to 9999" in errors_shown[1]


def fetch(url: str) -> Any:
    """Return the JSON of an address."""
    from urllib.request import urlopen

    with urlopen(url, timeout=TIMEOUT) as response:
        return json.load(response)


def test_the_place_of_a_value_is_in_its_error() -> None:
    """In lists, maps and structs."""
    inner = pa.struct([("days", pa.list_(pa.date32()))])
    value = Json(schema=pa.struct([("m", pa.map_(pa.string(), inner))]), wire_format="none")
    data = json.dumps({"m": {"k": {"days": ["2026-11-25", "0000-06-01"]}}}).encode()
    with pytest.raises(errors.SerializationError, match=r"field m\['k'\]\.days\[1\]: -\d+ days"):
        value.deserialize("t", data)


def test_a_text_of_a_year_that_datetime_lacks_is_refused_by_produce(
    mock_cluster: MockCluster, mock_registry: MockRegistry, single: str
) -> None:
    """As the error of its line, not as a traceback."""
    mock_registry.register(f"{single}-value", '{"type": "int", "logicalType": "date"}')
    arguments = ["--value-format", "avro", "--schema-registry", mock_registry.url]
    done = ottla_here(
        "produce", mock_cluster.bootstrap, "-t", single, *arguments, stdin=b"0000-01-01\n"
    )
    assert done.code == 1
    assert "years 1 to 9999" in done.err


@pytest.fixture
def far(mock_cluster: MockCluster, producer: ottla.Producer, single: str) -> str:
    """A topic whose second record is from after the year 294246, which no column of times has."""
    for millis in (_LAST, _LAST + 1, 5):
        producer.send(single, str(millis), timestamp=millis).result(timeout=TIMEOUT)
    return single


def test_a_timestamp_that_a_column_cannot_have_is_null(mock_cluster: MockCluster, far: str) -> None:
    """The time is not replaced by the last one that the column has; records have the number."""
    columns = pa.RecordBatchReader.from_stream(ottla.scan(far, mock_cluster.bootstrap)).read_all()
    assert columns["timestamp"].cast(pa.int64()).to_pylist() == [_LAST * 1000, None, 5000]
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(far, 0)])
        assert [found.timestamp for found in consumer.poll(timeout=TIMEOUT)] == [
            _LAST,
            _LAST + 1,
            5,
        ]
        consumer.seek(far, 0, 0)
        batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["timestamp"])
        assert batch is not None
        assert batch.rows() == [(_LAST,), (None,), (5,)]


def test_the_command_line_shows_no_other_time(mock_cluster: MockCluster, far: str) -> None:
    """It is null in JSON, and the latest of all."""

    def consume(*arguments: str) -> str:
        done = ottla_here("consume", mock_cluster.bootstrap, "-t", far, *arguments)
        assert done.err == ""
        return done.text

    lines = [json.loads(line)["timestamp"] for line in consume("-e", "-J").splitlines()]
    assert lines == [_LAST, None, 5]
    assert consume("-e", "-f", "%T ") == f"{_LAST} NULL 5 "
    assert consume("--last", "3") == f"5\n{_LAST}\n{_LAST + 1}\n"


def test_seconds_beyond_64_bits_of_milliseconds_are_refused(
    producer: ottla.Producer, single: str
) -> None:
    """As the error of their row; null rows have no number."""
    times = pa.array([None, 2**63 // 1000 + 1], pa.timestamp("s"))
    with pytest.raises(errors.ConfigError, match="row 1 is beyond"):
        producer.send_batch(single, pa.table({"value": ["a", "b"], "timestamp": times}))


@pytest.mark.parametrize(
    "when",
    [
        datetime(2020, 1, 1, 0, 0, 0, 999_499, UTC),
        datetime(2020, 1, 1, 0, 0, 0, 999_500, UTC),
        datetime(2020, 1, 1, 0, 0, 0, 999_999, UTC),
        datetime(2020, 1, 1, 0, 0, 0, 1_000, UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_a_part_of_a_millisecond_is_dropped_in_every_way_to_send(
    producer: ottla.Producer, mock_cluster: MockCluster, single: str, when: datetime
) -> None:
    """As Arrow's columns are rounded, so that a time is one time."""
    micros = (when - EPOCH) // (datetime.resolution)
    assert (
        producer.send(single, "a", timestamp=when).result(timeout=TIMEOUT).timestamp
        == micros // 1000
    )
    producer.send_batch(single, ["b"], timestamps=[when]).result(timeout=TIMEOUT)
    column = pa.array([micros], pa.timestamp("us", "UTC"))
    producer.send_batch(single, pa.table({"value": ["c"], "timestamp": column})).result(
        timeout=TIMEOUT
    )
    found = pa.RecordBatchReader.from_stream(ottla.scan(single, mock_cluster.bootstrap)).read_all()
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [micros // 1000 * 1000] * 3


def test_a_time_just_before_1970_is_not_1970(producer: ottla.Producer, single: str) -> None:
    """It is rounded down, and refused as all negative times are."""
    with pytest.raises(errors.ConfigError, match="milliseconds since 1970"):
        producer.send(single, "a", timestamp=datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC))


def test_a_bool_is_no_number(
    mock_cluster: MockCluster, producer: ottla.Producer, client: ottla.Client, single: str
) -> None:
    """Python counts it among the integers; here it is the value of another argument."""
    wrong: Any = True
    refused: Callable[[], Any]
    for refused in (
        lambda: producer.send(single, "a", timestamp=wrong),
        lambda: producer.send(single, "a", partition=False),
        lambda: producer.send_batch(single, ["a"], timestamps=[wrong]),
        lambda: producer.send_batch(single, ["a"], partitions=[False]),
        lambda: client.list_offsets({(single, 0): wrong}),
        lambda: client.list_offsets({(single, False): "earliest"}),
        lambda: list(client.scan([(single, 0, wrong, None)])),
        lambda: ottla.OffsetAndMetadata(wrong),
    ):
        with pytest.raises((TypeError, errors.ConfigError)):
            refused()
    with ottla.Consumer(mock_cluster.bootstrap, group_id="g") as consumer:
        consumer.assign([(single, 0)])
        for refused in (
            lambda: consumer.seek(single, 0, wrong),
            lambda: consumer.seek(single, False, 0),
            lambda: consumer.assign([(single, False)]),
            lambda: consumer.commit({(single, 0): wrong}),
            lambda: consumer.offsets_for_times({(single, 0): wrong}),
        ):
            with pytest.raises((TypeError, errors.ConfigError)):
                refused()
    with ottla.Admin(mock_cluster.bootstrap) as admin, pytest.raises(errors.ConfigError):
        admin.list_offsets({(single, 0): wrong})
    assert client.list_offsets({(single, 0): "latest"})[single, 0].offset == 0


@pytest.mark.parametrize("column_format", [Avro, Json, Protobuf])
@pytest.mark.parametrize("number", [-1, 2**32, 2**63, -(2**70)])
def test_a_number_that_is_no_id_of_a_schema_is_a_typed_error(
    column_format: Any, number: int
) -> None:
    message = rf"schema is {number}, which is out of range: expected the id of a schema"
    with pytest.raises(errors.ConfigError, match=message):
        column_format(schema=number)
