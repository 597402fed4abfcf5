"""Views and tables in SQL, and triggers that Spark does not support for Python sources."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from ottla.testing import MockCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("orders", 1)
        cluster.append("orders", 0, [b"one", b"two"])
        yield cluster


def options_for(cluster: MockCluster) -> dict[str, str]:
    return {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "orders"}


def in_sql(options: dict[str, str]) -> str:
    return ", ".join(f"`{name}` = '{value}'" for name, value in options.items())


@pytest.mark.parametrize("columns", ["", "(value binary, offset bigint)"])
def test_a_temporary_view(spark: SparkSession, cluster: MockCluster, columns: str) -> None:
    view = f"view_{uuid.uuid4().hex}"
    options = in_sql(options_for(cluster))
    spark.sql(f"CREATE TEMPORARY VIEW {view} {columns} USING ottla OPTIONS ({options})")
    rows = spark.sql(f"SELECT CAST(value AS STRING), offset FROM {view} ORDER BY offset").collect()
    assert [tuple(row) for row in rows] == [("one", 0), ("two", 1)]
    spark.catalog.dropTempView(view)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """Create a permanent table, whose options Spark does not pass on."""
    name = f"table_{uuid.uuid4().hex}"
    spark.sql(f"CREATE TABLE {name} (value binary, offset bigint) USING ottla OPTIONS (a = 'b')")
    yield name
    spark.sql(f"DROP TABLE {name}")


def test_a_table_with_options_of_the_query(
    spark: SparkSession, cluster: MockCluster, table: str
) -> None:
    options = options_for(cluster)
    frames = [
        spark.read.options(**options).table(table),
        spark.sql(f"SELECT * FROM {table} WITH ({in_sql(options)})"),
    ]
    for frame in frames:
        rows = frame.orderBy("offset").collect()
        assert [(bytes(row.value), row.offset) for row in rows] == [(b"one", 0), (b"two", 1)]


def test_a_table_without_options_is_an_error_with_advice(spark: SparkSession, table: str) -> None:
    with pytest.raises(PySparkException, match="no options were received: Spark passes") as caught:
        spark.table(table).collect()
    assert "spark.read.options(…).table(…)" in str(caught.value)
    # Without columns, Spark asks for the schema at once, without the table's options.
    with pytest.raises(PySparkException, match="no options were received: Spark passes"):
        spark.sql("CREATE TABLE t USING ottla OPTIONS (subscribe 'orders')")


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ({"continuous": "1 second"}, "Data source ottla does not support continuous processing"),
        ({"realTime": "5 minutes"}, "REAL_TIME_MODE.*(?i:ottla|python)"),
    ],
)
def test_unsupported_triggers_are_rejected(
    spark: SparkSession,
    cluster: MockCluster,
    tmp_path: Path,
    trigger: dict[str, str],
    message: str,
) -> None:
    frame = spark.readStream.format("ottla").options(**options_for(cluster)).load()
    writing = frame.writeStream.format("console").outputMode("update").trigger(**trigger)
    with pytest.raises(PySparkException, match=message):
        writing.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination(60)
