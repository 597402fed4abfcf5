"""polars' lazy frames of values with a schema: rows, errors and fields that are decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import ottla
from ottla import errors
from ottla.polars import scan_kafka
from ottla.schema import Avro, DeadLetters
from ottla.testing import MockCluster
from tests.support.pinned_reads import Scans, record_scans

ORDER = (
    '{"type": "record", "name": "Order", "fields": ['
    '{"name": "id", "type": "long"}, {"name": "text", "type": "string"},'
    '{"name": "place", "type": {"type": "record", "name": "Place", "fields": ['
    '{"name": "x", "type": "int"}]}}]}'
)
GOOD = [b"\x02\x02a\x08", b"\x04\x02b\x0a", b"\x06\x02c\x0c"]
"""Orders 1 to 3, with the texts a to c, at places 4 to 6."""
BAD = b"\x02"
"""An order that ends after its id."""


def orders(mode: Any = "failfast", fields: Sequence[str] | None = None) -> Avro:
    return Avro(schema=ORDER, wire_format="none", mode=mode, fields=fields)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Scans:
    return record_scans(monkeypatch)


@pytest.fixture
def good(mock_cluster: MockCluster, single: str) -> str:
    mock_cluster.append(single, 0, GOOD)
    return single


@pytest.fixture
def mixed(mock_cluster: MockCluster, single: str) -> str:
    mock_cluster.append(single, 0, [GOOD[0], BAD, GOOD[1]])
    return single


def test_fields_are_columns_of_which_only_those_of_a_query_are_decoded(
    client: ottla.Client, good: str, scans: Scans
) -> None:
    asked: list[Sequence[str] | None] = []

    def format_of(fields: Sequence[str] | None) -> Avro:
        asked.append(fields)
        return orders(fields=fields)

    frame = scan_kafka(good, client, value_format=format_of)
    assert frame.collect_schema().names()[:4] == ["key", "value.id", "value.text", "value.place"]
    assert frame.collect_schema()["value.place"] == pl.Struct({"x": pl.Int32})
    asked.clear()
    query = frame.filter(pl.col("value.id") > 1).select("value.text", "offset")
    assert query.collect().rows() == [("b", 1), ("c", 2)]
    assert [sorted(fields or ()) for fields in asked] == [["id", "text"]]
    asked.clear()
    assert frame.select("offset").collect().height == 3
    assert asked == []
    assert scans.columns[-1] == ["offset"]
    assert frame.head(1).collect()["value.place"].to_list() == [{"x": 4}]


def test_fields_of_a_record_without_a_value_are_null(
    client: ottla.Client, producer: ottla.Producer, good: str
) -> None:
    producer.send(good, None, b"key").result(timeout=30)
    frame = scan_kafka(good, client, value_format=lambda fields: orders(fields=fields))
    assert frame.select("value.id").collect()["value.id"].to_list() == [1, 2, 3, None]


def test_a_function_of_fields_must_be_failfast_and_have_fields(
    client: ottla.Client, good: str
) -> None:
    with pytest.raises(errors.ConfigError, match="must be failfast"):
        scan_kafka(good, client, value_format=lambda fields: orders("permissive", fields))
    with pytest.raises(errors.ConfigError, match="values are Int64: pass the format"):
        scan_kafka(good, client, value_format=lambda _: Avro(schema='"long"', wire_format="none"))


def test_failfast_fails_whatever_a_query_selects(client: ottla.Client, mixed: str) -> None:
    frame = scan_kafka(mixed, client, value_format=orders())
    for query in (frame, frame.select("offset"), frame.select(pl.len())):
        with pytest.raises(Exception, match="value cannot be decoded"):
            query.collect()
    assert frame.head(1).collect()["value"].struct.field("id").to_list() == [1]


def test_permissive_has_the_reason(client: ottla.Client, mixed: str) -> None:
    frame = scan_kafka(mixed, client, value_format=orders("permissive"))
    bad = frame.filter(pl.col("_error").is_not_null())
    assert bad.select("offset").collect()["offset"].to_list() == [1]
    assert bad.select("_error").collect().height == 1
    assert frame.select("value").collect()["value"].struct.field("id").to_list() == [1, None, 2]


def test_dead_letters_are_left_out_whatever_a_query_selects(
    client: ottla.Client, mock_cluster: MockCluster, mixed: str
) -> None:
    mock_cluster.create_topic("dead", partitions=1)
    letters = DeadLetters("dead", mock_cluster.bootstrap)
    frame = scan_kafka(mixed, client, value_format=orders(letters))
    for query in (frame, frame.select("offset"), frame.head(2), frame.select("partition").head(2)):
        assert query.collect().height == 2
    assert frame.select(pl.len()).collect().item() == 2
    assert mock_cluster.end_offset("dead", 0) > 0


def test_dead_letters_of_a_function_of_fields_are_refused(
    client: ottla.Client, mock_cluster: MockCluster, mixed: str
) -> None:
    """A query that does not use a malformed field would have its record, and another not."""
    mock_cluster.create_topic("dead", partitions=1)
    letters = DeadLetters("dead", mock_cluster.bootstrap)
    for mode in (letters, "permissive"):
        with pytest.raises(errors.ConfigError, match="must be failfast, since other modes"):
            scan_kafka(mixed, client, value_format=lambda fields: orders(mode, fields))  # noqa: B023
