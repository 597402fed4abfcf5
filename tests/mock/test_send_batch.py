"""Producer.send_batch: lists and everything that speaks Arrow become the same records."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows, read_table

VALUES = [b"a", None, b"", b"d" * 1000]
KEYS = [b"k1", b"k2", None, b""]


def pairs(cluster: MockCluster, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    rows = read_rows(ottla.scan(topic, cluster.bootstrap, columns=["key", "value", "offset"]))
    return [(row["key"], row["value"]) for row in rows]


def batch(*names: str) -> pa.RecordBatch:
    columns = {"value": pa.array(VALUES, pa.binary()), "key": pa.array(KEYS, pa.binary())}
    return pa.record_batch({name: columns[name] for name in names})


PLAIN: dict[str, Any] = {
    "list": VALUES,
    "tuple": tuple(VALUES),
    "array": pa.array(VALUES, pa.binary()),
    "large array": pa.array(VALUES, pa.large_binary()),
    "view array": pa.array(VALUES, pa.binary_view()),
    "string array": pa.array(["a", None, "", "d" * 1000], pa.string()),
    "large string array": pa.array(["a", None, "", "d" * 1000], pa.large_string()),
    "string view array": pa.array(["a", None, "", "d" * 1000], pa.string_view()),
    "chunked array": pa.chunked_array([VALUES[:1], [], VALUES[1:]], pa.binary()),
    "sliced array": pa.array([b"no", *VALUES, b"no"], pa.binary())[1:-1],
    "record batch": batch("value"),
    "table": pa.Table.from_batches([batch("value").slice(0, 2), batch("value").slice(2)]),
    "reader": lambda: pa.RecordBatchReader.from_batches(batch("value").schema, [batch("value")]),
    "polars": pl.DataFrame({"value": VALUES}),
    "pandas": pd.DataFrame({"value": ["a", None, "", "d" * 1000]}),
}


@pytest.mark.parametrize("form", PLAIN)
def test_values(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, form: str
) -> None:
    given = PLAIN[form]() if callable(PLAIN[form]) else PLAIN[form]
    sent = producer.send_batch(single, given)
    assert len(sent) == 4
    assert sent.result(30) == 4
    assert sent.done()
    assert sent.errors() == []
    assert pairs(mock_cluster, single) == [(None, value) for value in VALUES]


KEYED: dict[str, Any] = {
    "lists": (VALUES, KEYS),
    "arrays": (pa.array(VALUES, pa.binary()), pa.array(KEYS, pa.binary())),
    "string keys": (pa.array(VALUES, pa.binary()), pa.array(["k1", "k2", None, ""], pa.string())),
    "both chunked": (
        pa.chunked_array([VALUES[:1], VALUES[1:]], pa.binary()),
        pa.chunked_array([KEYS[:3], [], KEYS[3:]], pa.binary()),
    ),
    "keys chunked": (
        pa.array(VALUES, pa.binary()),
        pa.chunked_array([KEYS[:1], KEYS[1:]], pa.binary()),
    ),
    "record batch": (batch("value", "key"), None),
    "table": (pa.Table.from_batches([batch("key", "value")]), None),
}


@pytest.mark.parametrize("form", KEYED)
def test_values_with_keys(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, form: str
) -> None:
    given, keys = KEYED[form]
    assert producer.send_batch(single, given, keys).result(30) == 4
    assert pairs(mock_cluster, single) == list(zip(KEYS, VALUES, strict=True))


def test_keys_choose_partitions(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    keys = [f"key-{i}" for i in range(100)]
    producer.send_batch(topic, keys, keys).result(30)
    producer.send_batch(topic, pa.array(keys), pa.array(keys)).result(30)
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
    assert len(rows) == 200
    assert all(row["partition"] == ottla.partition_for_key(row["key"], 3) for row in rows)


def test_all_columns_of_a_table(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    when = datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=timezone.utc)
    table = pa.table(
        {
            "partition": pa.array([2, 2, None], pa.int32()),
            "timestamp": pa.array([when, None, when], pa.timestamp("us", "UTC")),
            "headers": pa.array([[("a", b"1"), ("a", None)], [], None], header),
            "key": pa.array(["k", None, "k"]),
            "value": pa.array([b"1", b"2", None], pa.binary()),
        }
    )
    assert producer.send_batch(topic, table).result(30) == 3
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    told = sorted(rows, key=lambda row: (row["value"] is None, row["value"]))
    assert [r["value"] for r in told] == [b"1", b"2", None]
    assert [r["partition"] for r in told] == [2, 2, ottla.partition_for_key("k", 3)]
    assert [r["timestamp"] for r in told if r["value"] != b"2"] == [when, when]
    assert told[0]["headers"] == [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]
    assert told[1]["headers"] is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, unit: str
) -> None:
    when = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    table = pa.table({"value": ["x"], "timestamp": pa.array([when], pa.timestamp(unit, "UTC"))})
    producer.send_batch(single, table).result(30)
    assert read_rows(ottla.scan(single, mock_cluster.bootstrap))[0]["timestamp"] == when


def test_a_scan_can_be_sent(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    producer.send_batch(topic, ["a", "b"], ["k", "l"], headers=[[("h", b"1")], None]).result(30)
    mock_cluster.create_topic("copy", partitions=3)
    scan = ottla.scan(topic, mock_cluster.bootstrap, include_headers=True)
    assert producer.send_batch("copy", scan).result(30) == 2
    for batch in ottla.scan(topic, mock_cluster.bootstrap):
        producer.send_batch("copy", batch).result(30)
    columns = ["key", "value", "timestamp", "headers", "partition"]
    read = [
        read_table(ottla.scan(name, mock_cluster.bootstrap, columns=columns)).to_pylist()
        for name in (topic, "copy")
    ]
    assert len(read[1]) == 2 * len(read[0])
    assert all(row in read[1] for row in read[0])


def test_lists_with_everything(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    sent = producer.send_batch(
        topic,
        ["a", b"b", bytearray(b"c")],
        [None, "k", memoryview(b"l")],
        headers=[{"x": b"1"}, None, [("y", None), ("y", "2")]],
        timestamps=[5, None, datetime(2024, 1, 1, tzinfo=timezone.utc)],
        partitions=[2, None, 1],
    )
    assert sent.result(30) == 3
    rows = {
        r["value"]: r
        for r in read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    }
    assert (rows[b"a"]["partition"], rows[b"c"]["partition"]) == (2, 1)
    assert rows[b"a"]["timestamp"].timestamp() == 0.005
    assert rows[b"b"]["timestamp"].year >= 2024
    assert rows[b"c"]["headers"] == [{"key": "y", "value": None}, {"key": "y", "value": b"2"}]


def test_nothing_to_send(producer: ottla.Producer, single: str) -> None:
    for nothing in ([], pa.array([], pa.binary()), pa.table({"value": pa.array([], pa.string())})):
        sent = producer.send_batch(single, nothing)
        assert (len(sent), sent.done(), sent.result(1), sent.errors(1)) == (0, True, 0, [])


STRUCT_OF_NULLS = pa.StructArray.from_arrays(
    [pa.array(["a"])], names=["value"], mask=pa.array([True])
)
HEADER = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
WRONG: dict[str, tuple[dict[str, Any], type, str]] = {
    "int array": ({"values": pa.array([1])}, errors.ConfigError, 'column "value" has type Int64'),
    "keys": (
        {"values": pa.array(["a"]), "keys": pa.array([1.5])},
        errors.ConfigError,
        'column "key"',
    ),
    "no value": ({"values": pa.table({"x": ["a"]})}, errors.ConfigError, 'no column "value".*x'),
    "twice": (
        {"values": pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["value", "value"])},
        errors.ConfigError,
        '"value" is there twice',
    ),
    "timestamp": (
        {"values": pa.table({"value": ["a"], "timestamp": ["now"]})},
        errors.ConfigError,
        'column "timestamp" has type Utf8',
    ),
    "partition": (
        {"values": pa.table({"value": ["a"], "partition": ["0"]})},
        errors.ConfigError,
        'column "partition" has type Utf8',
    ),
    "headers": (
        {"values": pa.table({"value": ["a"], "headers": ["x"]})},
        errors.ConfigError,
        'column "headers"',
    ),
    "null header key": (
        {"values": pa.table({"value": ["a"], "headers": pa.array([[(None, b"")]], HEADER)})},
        errors.ConfigError,
        "row 0",
    ),
    "null rows": ({"values": STRUCT_OF_NULLS}, errors.ConfigError, "rows are null as a whole"),
    "lengths": (
        {"values": ["a"], "keys": ["a", "b"]},
        errors.ConfigError,
        "keys has 2 items and values has 1",
    ),
    "arrow lengths": (
        {"values": pa.array(["a"]), "keys": pa.array(["a", "b"])},
        errors.ConfigError,
        "keys has 2 items and values has 1",
    ),
    "keys twice": (
        {"values": pa.table({"value": ["a"], "key": ["k"]}), "keys": pa.array(["a"])},
        errors.ConfigError,
        "own column for keys",
    ),
    "arrow and lists": (
        {"values": pa.array(["a"]), "keys": ["a"]},
        TypeError,
        "keys is of type list",
    ),
    "arrow and headers": (
        {"values": pa.array(["a"]), "headers": [None]},
        errors.ConfigError,
        "columns of the table",
    ),
    "value of a list": ({"values": ["a", 3]}, TypeError, r"values\[1\].*int"),
    "key of a list": ({"values": ["a", "b"], "keys": [None, 1.5]}, TypeError, r"keys\[1\].*float"),
    "header of a list": ({"values": ["a"], "headers": ["x"]}, TypeError, r"headers\[0\]"),
    "timestamp of a list": ({"values": ["a"], "timestamps": ["x"]}, TypeError, r"timestamps\[0\]"),
    "negative time": (
        {"values": ["a"], "timestamps": [-7]},
        errors.ConfigError,
        r"timestamps\[0\].*-7",
    ),
    "partition of a list": (
        {"values": ["a"], "partitions": ["x"]},
        errors.ConfigError,
        r"partitions\[0\]",
    ),
    "text": ({"values": "abc"}, TypeError, "values is of type str; expected a list"),
    "bytes": ({"values": b"abc"}, TypeError, "values is of type bytes"),
    "number": ({"values": 5}, TypeError, "values is of type int"),
    "generator": ({"values": (x for x in "abc")}, TypeError, "values is of type generator"),
    "none": ({"values": None}, TypeError, "values is of type NoneType"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_before_anything_is_sent(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, case: str
) -> None:
    arguments, kind, words = WRONG[case]
    with pytest.raises(kind, match=words):
        producer.send_batch(single, **arguments)
    producer.flush(60)
    assert mock_cluster.end_offset(single, 0) == 0


def test_numpy_values_are_buffers(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send_batch(single, [np.array([1, 2], np.uint8), memoryview(b"x")]).result(30)
    assert pairs(mock_cluster, single) == [(None, b"\x01\x02"), (None, b"x")]


BIG = b"x" * 2_000_000
PARTIAL: dict[str, Any] = {
    "lists": {"values": ["a", BIG, "c", "d"], "partitions": [0, 0, 7, None]},
    "arrow": {
        "values": pa.table(
            {
                "value": pa.array([b"a", BIG, b"c", b"d"], pa.binary()),
                "partition": pa.array([0, 0, 7, None], pa.int32()),
            }
        )
    },
}


@pytest.mark.parametrize("form", PARTIAL)
def test_a_bad_record_fails_alone(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, form: str
) -> None:
    sent = producer.send_batch(single, **PARTIAL[form])
    assert len(sent) == 4
    with pytest.raises(
        errors.ConfigError, match=r"2 of 4 records failed, the first at index 1.*max.request"
    ):
        sent.result(30)
    (first, second) = sent.errors(60)
    assert first[:2] == (1, 1)
    assert second[:2] == (2, 1)
    assert isinstance(first[2], errors.ConfigError)
    assert isinstance(second[2], errors.UnknownTopicError)
    assert [value for _, value in pairs(mock_cluster, single)] == [b"a", b"d"]


def test_where_the_rows_were_written(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    producer.send_batch(topic, ["x"] * 7, partitions=[0, 0, 0, 1, 1, 2, 2]).result(30)
    # Rows that take turns among partitions still are one entry for each.
    partitions = [0, 1, 2, 0, 1, 0]
    sent = producer.send_batch(topic, ["y"] * 6, partitions=partitions)
    assert sorted(sent.written(10)) == [(0, 3, 3), (1, 2, 2), (2, 2, 1)]
    assert producer.send_batch(topic, []).written(10) == []
    with ottla.Producer(mock_cluster.bootstrap, acks=0, enable_idempotence=False) as unsure:
        told = unsure.send_batch(topic, ["z"] * 3, partitions=[1, 0, 1]).written(10)
    assert sorted(told) == [(0, None, 1), (1, None, 2)]


def test_where_the_rows_were_written_is_not_told_if_some_were_not(
    producer: ottla.Producer, single: str
) -> None:
    sent = producer.send_batch(single, ["a", "x" * 2_000_000, "b"])
    with pytest.raises(errors.ConfigError, match="1 of 3 records failed, the first at index 1"):
        sent.written(10)


def test_partial_failure_tells_the_indices(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", topic=topic, partition=1)
    partitions = [0] * 5 + [1] * 3 + [2] * 2 + [1] * 4
    sent = producer.send_batch(topic, ["x"] * 14, partitions=partitions)
    told = sent.errors(60)
    failed = [index for first, count, _ in told for index in range(first, first + count)]
    assert failed == [5, 6, 7, 10, 11, 12, 13]
    for _, _, error in told:
        assert isinstance(error, errors.BrokerError)
        assert error.context["partition"] == 1
    with pytest.raises(errors.BrokerError, match="7 of 14 records failed, the first at index 5"):
        sent.result(30)
    assert mock_cluster.end_offset(topic, 0) == 5
    assert mock_cluster.end_offset(topic, 2) == 2


@pytest.mark.parametrize("arrow", [False, True])
def test_full_buffer_holds_back_and_goes_on(
    mock_cluster: MockCluster, single: str, arrow: bool
) -> None:
    config = {"buffer.memory": 50_000, "batch.size": 10_000, "linger.ms": 0}
    values = [f"{i:06}" * 20 for i in range(5_000)]
    with ottla.Producer(mock_cluster.bootstrap, config) as producer:
        sent = producer.send_batch(single, pa.array(values) if arrow else values)
        assert producer.buffered_bytes <= 50_000
        assert sent.result(60) == 5_000
    rows = read_rows(ottla.scan(single, mock_cluster.bootstrap))
    assert [row["value"].decode() for row in rows] == values


@pytest.mark.parametrize("arrow", [False, True])
def test_full_buffer_times_out(mock_cluster: MockCluster, single: str, arrow: bool) -> None:
    client = ottla.Client(mock_cluster.bootstrap, buffer_memory=20_000, max_block_ms=200)
    # Or the first would have no more time to be looked up in.
    client.cluster([single])
    producer = ottla.Producer(client)
    producer.send(single, "first").result(30)
    mock_cluster.inject(Fault.silence(), api="Produce")
    values = ["x" * 1000] * 100
    with pytest.raises(
        errors.TimeoutError, match=r"at index \d+; the records before it are under way"
    ):
        producer.send_batch(single, pa.array(values) if arrow else values)
    with pytest.raises(errors.TimeoutError):
        producer.close(0)
    client.close()


def test_batch_result_times_out(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=60_000) as producer:
        sent = producer.send_batch(single, ["a", "b"])
        assert not sent.done()
        with pytest.raises(errors.TimeoutError, match="still under way"):
            sent.result(0.1)
        with pytest.raises(errors.TimeoutError):
            sent.errors(timeout=0)
        producer.flush(60)
        assert sent.result() == 2


def test_closed_producer_refuses(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, "v").result(30)
    for values in (["a"], pa.array(["a"])):
        with pytest.raises(errors.ClosedError, match="closed"):
            producer.send_batch(single, values)


def test_a_hundred_thousand_rows(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    count = 100_000
    table = pa.table(
        {"value": [f"value-{i}" for i in range(count)], "key": [f"k{i % 97}" for i in range(count)]}
    )
    assert producer.send_batch(topic, table).result(30) == count
    read = read_table(ottla.scan(topic, mock_cluster.bootstrap, columns=["value"]))
    assert sorted(read["value"].cast(pa.string()).to_pylist()) == sorted(table["value"].to_pylist())


def test_a_column_that_no_record_has_is_named(producer: ottla.Producer, single: str) -> None:
    table = pa.table({"value": VALUES, "tiemstamp": [1, 2, 3, 4]})
    with pytest.raises(errors.ConfigError, match='column "tiemstamp" is no part of a record'):
        producer.send_batch(single, table)
    assert producer.buffered_bytes == 0


def test_what_was_read_can_be_sent_as_it_is(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send_batch(single, VALUES, KEYS).result(30)
    columns = [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
    ]
    table = read_table(ottla.scan(single, mock_cluster.bootstrap, columns=columns))
    assert producer.send_batch(single, table).result(30) == 4
    assert pairs(mock_cluster, single) == 2 * list(zip(KEYS, VALUES, strict=True))


def test_partitions_and_offsets_of_rows(producer: ottla.Producer, topic: str) -> None:
    producer.send_batch(topic, ["before"] * 5, partitions=[0, 0, 1, 2, 2]).result(30)
    # The fourth is refused at once, the others are in three batches.
    sent = producer.send_batch(topic, ["x"] * 6, partitions=[0, 1, 0, 7, 2, 0])
    assert pa.array(sent.partitions()).to_pylist() == [0, 1, 0, None, 2, 0]
    offsets = pa.array(sent.offsets(10))
    assert offsets.type == pa.int64()
    assert offsets.to_pylist() == [2, 1, 3, None, 2, 4]
    [(first, count, error)] = sent.errors()
    assert (first, count) == (3, 1)
    assert isinstance(error, errors.UnknownTopicError)
    assert error.context == {"topic": topic, "partition": 7, "index": 3}
    with pytest.raises(errors.UnknownTopicError) as told:
        sent.result()
    assert told.value.context["index"] == 3


def test_rows_that_take_turns_find_their_offsets_and_their_failures(
    mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, batch_size=2000, linger_ms=20) as producer:
        # Of many batches in each partition, with rows between them that can't be sent.
        turns = [i * 7 % 3 if i % 50 else 7 for i in range(3000)]
        values = [b"%d" % i for i in range(3000)]
        columns = {"value": pa.array(values), "partition": pa.array(turns, pa.int32())}
        sent = producer.send_batch(topic, pa.record_batch(columns))
        refused = [(first, many) for first, many, _ in sent.errors(60)]
        assert refused == [(i, 1) for i in range(0, 3000, 50)]
        chosen = pa.array(sent.partitions()).to_pylist()
        assert chosen == [None if i % 50 == 0 else turns[i] for i in range(3000)]
        offsets = pa.array(sent.offsets()).to_pylist()
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
    there = {row["value"]: (row["partition"], row["offset"]) for row in rows}
    assert len(rows) == 2940
    for value, partition, offset in zip(values, chosen, offsets, strict=True):
        assert there.get(value, (None, None)) == (partition, offset)


def test_offsets_that_nobody_knows_are_null(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, acks=0, enable_idempotence=False) as producer:
        sent = producer.send_batch(single, ["x"] * 3)
        assert pa.array(sent.offsets(10)).to_pylist() == [None] * 3
        assert pa.array(sent.partitions()).to_pylist() == [0] * 3


@pytest.mark.parametrize("delivered", [True, False])
def test_an_error_tells_what_the_broker_said_last_and_whether_it_may_be_written(
    mock_cluster: MockCluster, topic: str, delivered: bool
) -> None:
    """Partition, index, the last broker error, and whether the records may be in the log."""
    code = "NOT_ENOUGH_REPLICAS_AFTER_APPEND" if delivered else "NOT_ENOUGH_REPLICAS"
    with ottla.Producer(
        mock_cluster.bootstrap, linger_ms=0, delivery_timeout_ms=3000, request_timeout_ms=2500
    ) as producer:
        producer.send_batch(topic, ["x"] * 3, partitions=[0, 1, 2]).result(30)
        mock_cluster.inject(Fault.error(code), api="Produce", topic=topic, partition=1)
        sent = producer.send_batch(topic, ["a", "b", "c", "d"], partitions=[0, 1, 2, 1])
        failed = sent.errors(60)
        assert [(first, count) for first, count, _ in failed] == [(1, 1), (3, 1)]
        for first, _, error in failed:
            assert isinstance(error, errors.TimeoutError)
            assert error.name == code
            assert error.maybe_done is delivered
            assert {name: error.context[name] for name in ("topic", "partition", "index")} == {
                "topic": topic,
                "partition": 1,
                "index": first,
            }
            assert "broker" in error.context
        assert pa.array(sent.offsets()).to_pylist() == [1, None, 1, None]
        mock_cluster.clear_faults()
