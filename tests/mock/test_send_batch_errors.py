"""Batches that Producer.send_batch rejects as a whole, before anything is sent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster

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
        '"value" occurs more than once',
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
    "null rows": (
        {"values": STRUCT_OF_NULLS},
        errors.ConfigError,
        "rows are null; to send a null value",
    ),
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
def test_invalid_batches_raise_before_anything_is_sent(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, case: str
) -> None:
    arguments, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        producer.send_batch(single, **arguments)
    producer.flush(timeout=60)
    assert mock_cluster.end_offset(single, 0) == 0


def test_an_unknown_column_is_named(producer: ottla.Producer, single: str) -> None:
    table = pa.table({"value": [b"a", None], "tiemstamp": [1, 2]})
    with pytest.raises(errors.ConfigError, match='column "tiemstamp" is not part of a record'):
        producer.send_batch(single, table)
    assert producer.buffered_bytes == 0


def test_closed_producer_raises(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(single, "v").result(timeout=30)
    for values in (["a"], pa.array(["a"])):
        with pytest.raises(errors.ClosedError, match="closed"):
            producer.send_batch(single, values)
