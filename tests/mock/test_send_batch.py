"""Producer.send_batch: lists and Arrow data produce the same records."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla.testing import MockCluster
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
    values = PLAIN[form]() if callable(PLAIN[form]) else PLAIN[form]
    sent = producer.send_batch(single, values)
    assert len(sent) == 4
    assert sent.result(timeout=30) == 4
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
    values, keys = KEYED[form]
    assert producer.send_batch(single, values, keys).result(timeout=30) == 4
    assert pairs(mock_cluster, single) == list(zip(KEYS, VALUES, strict=True))


def test_keys_choose_partitions(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    keys = [f"key-{i}" for i in range(100)]
    producer.send_batch(topic, keys, keys).result(timeout=30)
    producer.send_batch(topic, pa.array(keys), pa.array(keys)).result(timeout=30)
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
    assert producer.send_batch(topic, table).result(timeout=30) == 3
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    by_value = sorted(rows, key=lambda row: (row["value"] is None, row["value"]))
    assert [r["value"] for r in by_value] == [b"1", b"2", None]
    assert [r["partition"] for r in by_value] == [2, 2, ottla.partition_for_key("k", 3)]
    assert [r["timestamp"] for r in by_value if r["value"] != b"2"] == [when, when]
    assert by_value[0]["headers"] == [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]
    assert by_value[1]["headers"] is None


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, unit: str
) -> None:
    when = datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    table = pa.table({"value": ["x"], "timestamp": pa.array([when], pa.timestamp(unit, "UTC"))})
    producer.send_batch(single, table).result(timeout=30)
    assert read_rows(ottla.scan(single, mock_cluster.bootstrap))[0]["timestamp"] == when


def test_a_scan_can_be_passed_to_send_batch(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    producer.send_batch(topic, ["a", "b"], ["k", "l"], headers=[[("h", b"1")], None]).result(
        timeout=30
    )
    mock_cluster.create_topic("copy", partitions=3)
    scan = ottla.scan(topic, mock_cluster.bootstrap, include_headers=True)
    assert producer.send_batch("copy", scan).result(timeout=30) == 2
    for batch in ottla.scan(topic, mock_cluster.bootstrap):
        producer.send_batch("copy", batch).result(timeout=30)
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
    assert sent.result(timeout=30) == 3
    rows = {
        r["value"]: r
        for r in read_rows(ottla.scan(topic, mock_cluster.bootstrap, include_headers=True))
    }
    assert (rows[b"a"]["partition"], rows[b"c"]["partition"]) == (2, 1)
    assert rows[b"a"]["timestamp"].timestamp() == 0.005
    assert rows[b"b"]["timestamp"].year >= 2024
    assert rows[b"c"]["headers"] == [{"key": "y", "value": None}, {"key": "y", "value": b"2"}]


def test_empty_batches(producer: ottla.Producer, single: str) -> None:
    nothing: Any
    for nothing in ([], pa.array([], pa.binary()), pa.table({"value": pa.array([], pa.string())})):
        sent = producer.send_batch(single, nothing)
        assert (len(sent), sent.done(), sent.result(timeout=1), sent.errors(timeout=1)) == (
            0,
            True,
            0,
            [],
        )


def test_numpy_values_are_buffers(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send_batch(single, [np.array([1, 2], np.uint8), memoryview(b"x")]).result(timeout=30)
    assert pairs(mock_cluster, single) == [(None, b"\x01\x02"), (None, b"x")]


def test_a_hundred_thousand_rows(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    count = 100_000
    table = pa.table(
        {"value": [f"value-{i}" for i in range(count)], "key": [f"k{i % 97}" for i in range(count)]}
    )
    assert producer.send_batch(topic, table).result(timeout=30) == count
    read = read_table(ottla.scan(topic, mock_cluster.bootstrap, columns=["value"]))
    assert sorted(read["value"].cast(pa.string()).to_pylist()) == sorted(table["value"].to_pylist())


def test_batches_that_were_read_can_be_sent_unchanged(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    producer.send_batch(single, VALUES, KEYS).result(timeout=30)
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
    assert producer.send_batch(single, table).result(timeout=30) == 4
    assert pairs(mock_cluster, single) == 2 * list(zip(KEYS, VALUES, strict=True))
