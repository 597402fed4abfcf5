"""Schemas of Avro and a record, for the tests of the registry's serializers."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

UTC = timezone.utc
RECORD = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
ORDER = {
    "id": 7,
    "note": "é",
    "price": Decimal("12.50"),
    "at": datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
    "tags": ["a", "b"],
}
LIST = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}
PETS = [
    {"type": "record", "name": "Cat", "fields": [{"name": "lives", "type": "int"}]},
    {"type": "record", "name": "Dog", "fields": [{"name": "bark", "type": "string"}]},
]


def text_of(schema: Any) -> str:
    """Return the text of a schema."""
    return json.dumps(schema)
