"""Bounds of a polars predicate: a list of ``ReadBounds``, of which a matching row is within one.

Polars has no interface to look into an expression but its serialized form, whose format may change
with any version. Invariant: what is not understood sets no bounds, and polars applies the whole
predicate to the rows in any case.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl

from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.read_bounds import LookUp, ReadBounds, narrow, within_bounds

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PER_SECOND = {"Nanoseconds": 10**9, "Microseconds": 10**6, "Milliseconds": 10**3}

_COMPARISONS = {
    "Eq": "EqualTo",
    "Gt": "GreaterThan",
    "GtEq": "GreaterThanOrEqual",
    "Lt": "LessThan",
    "LtEq": "LessThanOrEqual",
}
_MIRRORED = {"Eq": "Eq", "Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq"}
_TEXT_SEARCHES = {"StartsWith": "StringStartsWith", "EndsWith": "StringEndsWith"}
_CLOSED = {
    "Both": ("GtEq", "LtEq"),
    "Left": ("GtEq", "Lt"),
    "Right": ("Gt", "LtEq"),
    "None": ("Gt", "Lt"),
}

# More alternatives are not worth a look-up each.
_MAX_ALTERNATIVES = 64

_ANY = [ReadBounds()]


def predicate_bounds(predicate: pl.Expr) -> list[ReadBounds]:
    """Return bounds of which every matching row is within one; an empty list if none matches."""
    try:
        return _bounds(json.loads(predicate.meta.serialize(format="json")))
    except (
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        RecursionError,
        pl.exceptions.PolarsError,
    ):
        return _ANY


def within_any(
    ranges: Iterable[OffsetRange], alternatives: Iterable[ReadBounds], look_up: LookUp
) -> list[OffsetRange]:
    """Return the parts of ranges that are within any of the bounds, without overlaps."""
    whole = list(ranges)
    parts = [part for one in alternatives for part in within_bounds(whole, one, look_up)]
    merged: list[OffsetRange] = []
    for part in sorted((part for part in parts if part.size > 0), key=lambda one: one.bounds):
        last = merged[-1] if merged else None
        if last and last.topic_partition == part.topic_partition and part.start <= last.end:
            merged[-1] = OffsetRange(*last.topic_partition, last.start, max(last.end, part.end))
        else:
            merged.append(part)
    return merged


def _bounds(node: Any) -> list[ReadBounds]:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            first, second = _bounds(left), _bounds(right)
            if len(first) * len(second) > _MAX_ALTERNATIVES:
                return min(first, second, key=len)
            return [a & b for a in first for b in second]
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            either = _bounds(left) + _bounds(right)
            return either if len(either) <= _MAX_ALTERNATIVES else _ANY
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": str(op), "right": value}}:
            return _compare(column, op, value)
        case {"BinaryExpr": {"left": value, "op": str(op), "right": {"Column": str(column)}}}:
            return _compare(column, _MIRRORED.get(op, ""), value)
        case {"Function": {"input": [{"Column": str(column)}, *values], "function": function}}:
            return _function(column, values, function)
        case {"Literal": {"Scalar": {"Boolean": False}}}:
            return []
    return _ANY


def _function(column: str, values: list[Any], function: Any) -> list[ReadBounds]:
    match function, values:
        case {"Boolean": {"IsBetween": {"closed": closed}}}, [low, high]:
            above, below = _CLOSED[closed]
            return [
                a & b for a in _compare(column, above, low) for b in _compare(column, below, high)
            ]
        case {"Boolean": {"IsIn": _}}, [{"Literal": {"Scalar": {"List": data}}}]:
            items = pl.read_ipc_stream(io.BytesIO(bytes(data))).to_series().to_list()
            items = [item for item in items if item is not None]
            return _any_of(column, items)
        case {"StringExpr": str(search)}, [value] if search in _TEXT_SEARCHES:
            return _narrow(column, _TEXT_SEARCHES[search], _literal(value))
    return _ANY


def _any_of(column: str, items: list[Any]) -> list[ReadBounds]:
    if column == "offset" and items:
        if len(items) <= _MAX_ALTERNATIVES:
            return [one for item in items for one in _narrow(column, "EqualTo", item)]
        return [ReadBounds(min_offset=min(items), max_offset=max(items))]
    return _narrow(column, "In", items)


def _compare(column: str, op: str, value: Any) -> list[ReadBounds]:
    return _narrow(column, _COMPARISONS.get(op, ""), _literal(value))


def _narrow(column: str, operator: str, value: Any) -> list[ReadBounds]:
    if operator == "" or value is None:
        return _ANY
    narrowed = narrow(ReadBounds(), column, operator, value)
    return _ANY if narrowed is None else [narrowed[0]]


def _literal(node: Any) -> Any:
    """Return the value of a literal; None if it is null or no literal that bounds can use."""
    match node:
        case {"Literal": {"Scalar": {"Int32": int(value)} | {"Int64": int(value)}}}:
            return value
        case {"Literal": {"Scalar": {"String": str(value)}}}:
            return value
        case {"Literal": {"Scalar": {"Datetime": [int(value), str(unit), _]}}}:
            return _EPOCH + timedelta(microseconds=value * 10**6 // _PER_SECOND[unit])
    return None
