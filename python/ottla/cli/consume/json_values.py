"""Decoded objects as JSON values.

Invariant: no information is lost. Decimals and numbers that JSON lacks become text, bytes become
base64, and dates and times become ISO 8601.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any


def as_json_value(value: Any) -> Any:
    """Return a decoded value as one that ``json`` writes."""
    convert = _CONVERSIONS.get(type(value))
    return value if convert is None else convert(value)


def _object(value: dict[Any, Any]) -> dict[str, Any]:
    return {
        key if type(key) is str else _key(key): as_json_value(each) for key, each in value.items()
    }


def _key(key: Any) -> str:
    """Return the key of a map as text. Protobuf keys may also be numbers or booleans."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(as_json_value(key))


def _array(value: list[Any]) -> list[Any]:
    return [as_json_value(each) for each in value]


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    # This is the form of Protobuf's JSON mapping.
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _duration(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}PT{seconds}{fraction}S"


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    dict: _object,
    list: _array,
    float: _float,
    Decimal: lambda value: f"{value:f}",
    bytes: lambda value: base64.b64encode(value).decode(),
    datetime: lambda value: value.isoformat().replace("+00:00", "Z"),
    date: date.isoformat,
    time: time.isoformat,
    timedelta: _duration,
}
