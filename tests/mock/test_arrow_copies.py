"""Who takes ottla's Arrow columns shares their memory: no value is copied."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla.testing import MockCluster

# Long enough to be outside of the views of polars and DuckDB, which hold short values themselves.
VALUE = b"v" * 1_000_000
RECORDS = 32


@pytest.fixture
def batch(mock_cluster: MockCluster) -> ottla.RecordBatch:
    mock_cluster.create_topic("orders", partitions=1)
    mock_cluster.append("orders", 0, [VALUE] * 3)
    with ottla.scan("orders", mock_cluster.bootstrap, columns=["value"]) as scan:
        return next(iter(scan))


def of_values(buffers: Sequence[pa.Buffer | None]) -> set[int]:
    """Return the addresses of the buffers that are large enough to have the values."""
    return {buffer.address for buffer in buffers if buffer and buffer.size >= len(VALUE)}


def addresses(batch: ottla.RecordBatch) -> set[int]:
    """Return where the values of a batch are: pyarrow has as many addresses as it has copies."""
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    found = of_values(first["value"].buffers()) | of_values(second["value"].buffers())
    assert len(found) == 1
    return found


def test_pyarrow_takes_the_memory(batch: ottla.RecordBatch) -> None:
    assert addresses(batch)


def test_polars_takes_the_memory(batch: ottla.RecordBatch) -> None:
    column = pl.DataFrame(batch)["value"].to_arrow(compat_level=pl.CompatLevel.newest())
    assert of_values(column.buffers()) == addresses(batch)


def test_pandas_takes_the_memory(batch: ottla.RecordBatch) -> None:
    table = pa.table(batch)
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    [chunk] = pa.chunked_array(pa.array(frame["value"].array)).chunks
    assert of_values(chunk.buffers()) == addresses(batch)


def test_duckdb_reads_more_than_its_own_memory(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    for _ in range(RECORDS):
        mock_cluster.append("orders", 0, [VALUE])
    table = pa.table(ottla.scan("orders", mock_cluster.bootstrap, columns=["value"]))
    with duckdb.connect(
        config={"memory_limit": "16MB", "temp_directory": "", "threads": 1}
    ) as connection:
        relation = connection.from_arrow(table)
        assert relation.aggregate("sum(octet_length(value))").fetchall() == [
            (RECORDS * len(VALUE),)
        ]
        # The limit is one that a copy exceeds.
        with pytest.raises(duckdb.OutOfMemoryException):
            relation.create("copies")
