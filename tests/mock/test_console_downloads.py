"""Parquet files of the console are made in groups of rows while they are sent."""

from __future__ import annotations

import io
from collections.abc import Iterator
from random import Random

import pyarrow.parquet as pq
import pytest

from ottla.cli.formats import Record
from ottla.console.messages import parquet_file as module
from ottla.console.messages.parquet_file import parquet_file


def record(offset: int, value: bytes | None) -> Record:
    headers = [("name", b"x"), ("none", None)] if offset % 2 else None
    return Record(b"k", value, "topic", 0, offset, 1_000 + offset, headers)


def test_a_file_is_sent_by_groups_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: all of a file was in memory before its first byte was sent."""
    monkeypatch.setattr(module, "_GROUP_BYTES", 100_000)
    taken = 0

    def records() -> Iterator[Record]:
        nonlocal taken
        for offset in range(1_000):
            taken += 1
            # Bytes that no codec makes small.
            yield record(offset, Random(offset).randbytes(1_000))

    out = io.BytesIO()
    ahead = []
    for piece in parquet_file(records()):
        out.write(piece)
        assert len(piece) < 200_000
        ahead.append(taken)
    assert ahead[0] < 100, "records were read before the first group was sent"
    file = pq.ParquetFile(io.BytesIO(out.getvalue()))
    assert file.metadata.num_row_groups > 10
    rows = file.read().to_pylist()
    assert [row["offset"] for row in rows] == list(range(1_000))
    assert rows[7]["headers"] == [{"key": "name", "value": b"x"}, {"key": "none", "value": None}]
    assert rows[7]["value"] == Random(7).randbytes(1_000)


@pytest.mark.parametrize("count", [0, 1])
def test_small_files_are_whole(count: int) -> None:
    pieces = parquet_file([record(0, None)] * count)
    table = pq.read_table(io.BytesIO(b"".join(pieces)))
    assert table.num_rows == count
    assert table.schema.names == [
        *("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    ]


def test_a_large_record_is_a_group_of_its_own() -> None:
    large = [record(offset, bytes(5 << 20)) for offset in range(3)]
    file = pq.ParquetFile(io.BytesIO(b"".join(parquet_file(large))))
    assert file.metadata.num_row_groups == 3
