"""Reads scans as Arrow tables or plain Python rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import ottla


def read_table(scan: ottla.Scan) -> pa.Table:
    """Return all rows of a scan, through Arrow's stream interface."""
    return pa.RecordBatchReader.from_stream(scan).read_all()


def read_rows(scan: ottla.Scan) -> list[dict[str, Any]]:
    """Return all rows of a scan, sorted by partition and offset if it has them."""
    rows: list[dict[str, Any]] = read_table(scan).to_pylist()
    return sorted(rows, key=lambda row: (row.get("partition", 0), row.get("offset", 0)))


def values(scan: ottla.Scan) -> list[bytes | None]:
    """Return the values of a scan, in the order of partition and offset."""
    return [row["value"] for row in read_rows(scan)]
