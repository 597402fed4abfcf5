"""The typed values: an Avro schema, and the one order that each number stands for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

SCHEMA = """{"type": "record", "name": "Order", "namespace": "soak", "fields": [
    {"name": "number", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "price",
     "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "note", "type": ["null", "string"], "default": null},
    {"name": "tags", "type": {"type": "array", "items": "string"}}]}"""
_EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)


def orders(numbers: Sequence[int]) -> Any:
    """Return the orders of numbers as a table."""
    return pa.table(
        {
            "number": pa.array(numbers, pa.int64()),
            "customer": [f"customer {number % 1_000}" for number in numbers],
            "price": pa.array(
                [Decimal(number % 1_000_000).scaleb(-2) for number in numbers], pa.decimal128(9, 2)
            ),
            "at": pa.array(
                [_EPOCH + timedelta(milliseconds=number) for number in numbers],
                pa.timestamp("ms", "UTC"),
            ),
            "note": pa.array([f"note {n}" if n % 3 else None for n in numbers], pa.string()),
            "tags": [[f"tag {i}" for i in range(number % 4)] for number in numbers],
        }
    )
