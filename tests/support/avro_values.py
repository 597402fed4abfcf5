"""Random Avro schemas without unions of several types, with payloads that fastavro wrote."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, TypeAlias

import fastavro

_Draw: TypeAlias = Callable[[random.Random], Any]


def _moment(step: int, zone: timezone | None) -> _Draw:
    def draw(source: random.Random) -> datetime:
        micros = source.randrange(1_000_000 // step) * step
        return datetime(source.randrange(1, 10000), 2, 3, 4, 5, 6, micros, zone)

    return draw


def _clock(step: int) -> _Draw:
    return lambda source: time(source.randrange(24), 5, 6, source.randrange(1000) * step)


def _digits(count: int, scale: int) -> _Draw:
    return lambda source: Decimal(
        (source.randrange(2), tuple(source.randrange(10) for _ in range(count)), -scale)
    )


_LEAVES: list[tuple[Any, _Draw]] = [
    ("boolean", lambda source: source.random() < 0.5),
    ("int", lambda source: source.choice([0, -1, 2**31 - 1, -(2**31)])),
    ("long", lambda source: source.choice([0, 2**63 - 1, -(2**63), 12345678901])),
    ("float", lambda source: source.choice([0.0, -0.0, 1.1, float("inf"), float("nan")])),
    ("double", lambda source: source.choice([0.0, 1.1, float("-inf"), 1e300])),
    ("bytes", lambda source: source.randbytes(source.randrange(4))),
    ("string", lambda source: source.choice(["", "a", "é€😀", "x" * 50])),
    (
        {"type": "int", "logicalType": "date"},
        lambda source: date(1, 1, 1) + timedelta(source.randrange(3652059)),
    ),
    ({"type": "int", "logicalType": "time-millis"}, _clock(1000)),
    ({"type": "long", "logicalType": "time-micros"}, _clock(1)),
    ({"type": "long", "logicalType": "timestamp-millis"}, _moment(1000, timezone.utc)),
    ({"type": "long", "logicalType": "timestamp-micros"}, _moment(1, timezone.utc)),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, _moment(1000, None)),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, _moment(1, None)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 4}, _digits(28, 4)),
]


def _schema(source: random.Random, names: Iterator[int], depth: int) -> tuple[Any, _Draw]:
    kind = source.choice(["leaf", "fixed", "enum", "array", "map", "null", "record"])
    if kind == "leaf" or depth > 3:
        return source.choice(_LEAVES)
    if kind == "fixed":
        return {"type": "fixed", "name": f"F{next(names)}", "size": 3}, lambda _: b"abc"
    if kind == "enum":
        schema = {"type": "enum", "name": f"E{next(names)}", "symbols": ["A", "B"]}
        return schema, lambda source: source.choice("AB")
    if kind == "record":
        count = source.randrange(1, 5)
        fields = {f"f{i}": _schema(source, names, depth + 1) for i in range(count)}
        inner = [{"name": name, "type": schema} for name, (schema, _) in fields.items()]
        record = {"type": "record", "name": f"R{next(names)}", "fields": inner}
        return record, lambda source: {name: draw(source) for name, (_, draw) in fields.items()}
    schema, draw = _schema(source, names, depth + 1)
    if kind == "array":
        return {"type": "array", "items": schema}, lambda source: [
            draw(source) for _ in range(source.randrange(4))
        ]
    if kind == "map":
        return {"type": "map", "values": schema}, lambda source: {
            f"k{i}": draw(source) for i in range(source.randrange(4))
        }
    if isinstance(schema, list):
        return schema, draw
    union = ["null", schema] if source.random() < 0.5 else [schema, "null"]
    return union, lambda source: None if source.random() < 0.4 else draw(source)


def random_schemas(seed: int, count: int) -> Iterator[tuple[str, Any, list[bytes]]]:
    """Yield texts of schemas, the schemas as fastavro parses them, and payloads."""
    source = random.Random(seed)
    names = iter(range(1_000_000))
    for _ in range(count):
        schema, draw = _schema(source, names, 0)
        text = json.dumps(schema)
        parsed = fastavro.parse_schema(json.loads(text))
        payloads = []
        for _ in range(4):
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, parsed, draw(source))
            payloads.append(stream.getvalue())
        yield text, parsed, payloads
