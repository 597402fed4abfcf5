"""What Arrow libraries get from batches and scans: schemas on request, and errors.

No error ends the process.
"""

from __future__ import annotations

import logging

import polars as pl
import pyarrow as pa
import pytest

import ottla
from ottla.testing import MockCluster

ROWS = [f"v{row}".encode() for row in range(5)]


@pytest.fixture
def stored(mock_cluster: MockCluster, single: str) -> str:
    mock_cluster.append(single, 0, ROWS)
    return single


@pytest.fixture
def other(mock_cluster: MockCluster, stored: str) -> pa.Schema:
    """The schema of a scan, with wider types."""
    schema = pa.schema(ottla.scan(stored, mock_cluster.bootstrap))
    index = schema.get_field_index("partition")
    schema = schema.set(index, pa.field("partition", pa.int64()))
    return schema.set(schema.get_field_index("value"), pa.field("value", pa.large_binary()))


def test_consumers_cast_to_the_schema_that_they_ask_for(
    mock_cluster: MockCluster, stored: str, other: pa.Schema
) -> None:
    """A requested schema is ignored, as the interface allows: the libraries cast what they get."""
    (batch,) = ottla.scan(stored, mock_cluster.bootstrap)
    wide = pa.record_batch(batch, schema=other)
    assert wide.schema == other
    assert wide["value"].to_pylist() == ROWS
    table = pa.table(ottla.scan(stored, mock_cluster.bootstrap), schema=other)
    assert (table.schema, table["value"].to_pylist()) == (other, ROWS)
    # A reader has the schema of the stream, and can be cast.
    scan = ottla.scan(stored, mock_cluster.bootstrap)
    reader = pa.RecordBatchReader.from_stream(scan, schema=other)
    assert reader.schema == pa.schema(batch)
    assert reader.cast(other).read_all() == table
    scan = ottla.scan(stored, mock_cluster.bootstrap, columns=["value", "partition"])
    frame = pl.DataFrame(scan, schema_overrides={"partition": pl.Int64})
    assert frame.schema == {"value": pl.Binary, "partition": pl.Int64}


def test_an_error_with_a_nul_character_reaches_the_reader(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code in C reads the stream, where this error ended the process."""
    mock_cluster.append(topic, 0, ROWS)
    mock_cluster.delete_records(topic, 0, 2)

    def fail(_: logging.LogRecord) -> bool:
        raise ValueError("before\0after")

    logger = logging.getLogger("ottla.fetch")
    monkeypatch.setattr(logger, "filters", [fail])
    scan = ottla.scan(topic, mock_cluster.bootstrap, start=0, fail_on_data_loss=False)
    with pytest.raises((pa.ArrowException, OSError), match=r"before\\0after"):
        pa.RecordBatchReader.from_stream(scan).read_all()
