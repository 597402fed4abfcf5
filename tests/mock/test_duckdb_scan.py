"""DuckDB's relations of topics: the rows of reading everything, repeatably, and less is read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.duckdb import scan_kafka
from ottla.schema import Avro, DeadLetters
from ottla.testing import MockCluster
from tests.support.arrow import read_table
from tests.support.pinned_reads import Scans, record_scans

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
PER_PARTITION = 100


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Scans:
    return record_scans(monkeypatch)


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        yield connection


@pytest.fixture
def filled(producer: ottla.Producer, topic: str, single: str) -> list[str]:
    """Two topics, of three partitions and of one; in partition 0 of the first, times decrease."""
    for name, partitions in ((topic, 3), (single, 1)):
        places = [(p, i) for p in range(partitions) for i in range(PER_PARTITION)]
        producer.send_batch(
            name,
            [f"{p}-{i}" for p, i in places],
            timestamps=[
                START + timedelta(seconds=PER_PARTITION - i if (name, p) == (topic, 0) else i)
                for p, i in places
            ],
            partitions=[p for p, _ in places],
        ).result(timeout=30)
    return [topic, single]


@pytest.fixture
def view(client: ottla.Client, database: duckdb.DuckDBPyConnection, filled: list[str]) -> str:
    """A view of both topics."""
    scan_kafka(filled, client, connection=database).create_view("records")
    return "records"


def random_filter(chance: random.Random, depth: int = 0) -> str:
    """Return a condition, of which some parts can be pushed down and others cannot."""
    if depth < 3 and chance.random() < 0.5:
        first, second = random_filter(chance, depth + 1), random_filter(chance, depth + 1)
        return chance.choice([f"({first} and {second})", f"({first} or {second})", f"not {first}"])
    number = chance.randrange(-5, PER_PARTITION + 5)
    moment = f"timestamptz '{(START + timedelta(seconds=number)).isoformat()}'"
    return chance.choice(
        [
            f'"offset" = {number}',
            f'"offset" <> {number}',
            f'"offset" < {number}',
            f'"offset" >= {number}',
            f'"offset" between {number} and {number + 20}',
            f'"offset" in ({number}, {number + 1}, {number + 40})',
            '"offset" % 3 = 1',
            f'"offset" + partition > {number}',
            f"partition = {chance.randrange(4)}",
            "partition in (0, 2)",
            "topic = 'orders'",
            "topic like 's%'",
            "topic like '%r%'",
            f"timestamp >= {moment}",
            f"timestamp < {moment}",
            f"timestamp = {moment}",
            "timestamp is null",
            "key is null",
            "value > '1'::blob",
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_filter_finds_the_rows_that_reading_everything_finds(
    client: ottla.Client,
    database: duckdb.DuckDBPyConnection,
    filled: list[str],
    view: str,
    seed: int,
) -> None:
    chance = random.Random(seed)
    database.register("whole", read_table(ottla.scan(filled, client)))
    for _ in range(40):
        condition = random_filter(chance)
        columns = ", ".join(chance.sample(["topic", "partition", '"offset"', "value"], 2))
        query = f"select {columns} from {{}} where {condition} order by all"
        expected = database.sql(query.format("whole")).fetchall()
        assert database.sql(query.format(view)).fetchall() == expected, condition


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("topic = 'orders' and partition = 1", [("orders", 1, 0, 100)]),
        ("topic = 'single' and \"offset\" >= 90", [("single", 0, 90, 100)]),
        ('partition = 2 and "offset" between 5 and 7', [("orders", 2, 5, 8)]),
        ("partition = 1 and timestamp >= '2024-01-01 00:00:50Z'", [("orders", 1, 50, 100)]),
        ("partition = 1 and timestamp < '2024-01-01 00:00:50Z'", [("orders", 1, 0, 100)]),
        ("partition = 9", []),
        ("timestamp > '2030-01-01 00:00:00Z'", []),
    ],
)
def test_a_filter_limits_what_is_read(
    database: duckdb.DuckDBPyConnection, view: str, scans: Scans, condition: str, read: list[Any]
) -> None:
    database.sql(f"select count(*) from {view} where {condition}").fetchall()
    assert scans.take() == read


def test_only_the_columns_of_a_query_are_read(
    database: duckdb.DuckDBPyConnection, view: str, scans: Scans
) -> None:
    database.sql(f"select value from {view} where partition = 1").fetchall()
    assert scans.columns == [["value", "partition"]]


def test_a_query_can_be_repeated(
    database: duckdb.DuckDBPyConnection, view: str, producer: ottla.Producer, filled: list[str]
) -> None:
    """A stream, in contrast, has no rows for a second query."""
    count = f"select count(*) from {view}"
    assert database.sql(count).fetchall() == [(400,)]
    producer.send_batch(filled[1], ["late"]).result(timeout=30)
    assert database.sql(count).fetchall() == [(400,)]
    joined = f'select count(*) from {view} a join {view} b using (topic, partition, "offset")'
    assert database.sql(joined).fetchall() == [(400,)]
    assert len(database.sql(f"select * from {view} limit 3").fetchall()) == 3


def test_a_scan_that_was_read_is_an_error_for_a_second_query(
    client: ottla.Client, database: duckdb.DuckDBPyConnection, filled: list[str]
) -> None:
    """DuckDB finds a scan in a variable, and reads it once; it never returns nothing instead."""
    once = ottla.scan(filled, client)  # noqa: F841 - DuckDB finds it
    assert database.sql("select count(*) from once").fetchall() == [(400,)]
    with pytest.raises(Exception, match="read once"):
        database.sql("select count(*) from once").fetchall()


def test_a_relation_of_the_default_connection(client: ottla.Client, filled: list[str]) -> None:
    relation = scan_kafka(filled, client, columns=["offset"])
    assert relation.columns == ["offset"]
    assert duckdb.sql('select max("offset") from relation').fetchall() == [(99,)]


def test_records_that_retention_deleted_are_an_error(
    database: duckdb.DuckDBPyConnection, view: str, mock_cluster: MockCluster
) -> None:
    mock_cluster.delete_records("single", 0, 10)
    with pytest.raises(duckdb.Error, match="the records from offset 0 to 10 are gone"):
        database.sql(f"select count(*) from {view}").fetchall()
    assert database.sql(f"select 1 from {view} where partition = 1").fetchall() == [(1,)] * 100


def test_aborted_records_and_empty_topics_have_no_rows(
    database: duckdb.DuckDBPyConnection, mock_cluster: MockCluster, single: str
) -> None:
    with ottla.Client(mock_cluster.bootstrap, isolation_level="read_committed") as committed:
        empty = scan_kafka(single, committed, connection=database)
        assert empty.fetchall() == []
        assert empty.filter('"offset" > 1').fetchall() == []
        mock_cluster.append_in_transaction(single, 0, 7, [b"aborted"] * 20)
        mock_cluster.end_transaction(single, 0, 7, commit=False)
        mock_cluster.append(single, 0, [b"kept"])
        rows = scan_kafka(single, committed, connection=database).select("value").fetchall()
        assert rows == [(b"kept",)]


def test_values_with_a_schema(
    client: ottla.Client,
    database: duckdb.DuckDBPyConnection,
    mock_cluster: MockCluster,
    single: str,
) -> None:
    mock_cluster.create_topic("dead", partitions=1)
    mock_cluster.append(single, 0, [b"\x02", b"\xff", b"\x04"])

    def count(mode: Any) -> duckdb.DuckDBPyRelation:
        longs = Avro(schema='"long"', wire_format="none", mode=mode)
        return scan_kafka(single, client, connection=database, value_format=longs)

    assert count("permissive").select("value").fetchall() == [(1,), (None,), (2,)]
    assert count("permissive").filter("_error is not null").select('"offset"').fetchall() == [(1,)]
    letters = DeadLetters("dead", mock_cluster.bootstrap)
    assert count(letters).filter("value > 1").fetchall()[0][1] == 2
    # Rows are left out, and errors raised, even if a query does not select the value.
    assert count(letters).select('"offset"').fetchall() == [(0,), (2,)]
    with pytest.raises(duckdb.Error, match="value cannot be decoded"):
        count("failfast").select('"offset"').fetchall()


def test_bad_input_is_an_error_of_the_call(client: ottla.Client, single: str) -> None:
    with pytest.raises(errors.UnknownTopicError, match="nope"):
        scan_kafka("nope", client, timeout=0.2)
    with pytest.raises(errors.ConfigError, match='column "nope" does not exist'):
        scan_kafka(single, client, columns=["nope"])
    with pytest.raises(errors.ConfigError, match="a scan on a Client takes its configuration"):
        scan_kafka(single, client, client_id="x")


def test_a_dataset_has_the_columns_of_a_scan(client: ottla.Client, single: str) -> None:
    relation = scan_kafka(single, client, include_headers=True)
    expected = pa.schema(ottla.scan(single, client, include_headers=True))
    assert relation.columns == expected.names
