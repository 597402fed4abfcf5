"""Sums of a column's leaves, by which tables are compared whose rows have another order.

Invariant: the sums of a table's parts add up to those of the table, exactly.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def leaf_sums(array: Any) -> Counter[str]:
    """Return of each leaf, by its path, the number of values, the nulls and the sum of the values.

    The sum of strings is that of their lengths.
    """
    sums: Counter[str] = Counter()
    _add(sums, "value", array)
    return sums


def _add(sums: Counter[str], path: str, array: Any) -> None:
    kind = array.type
    sums[f"{path} rows"] += len(array)
    sums[f"{path} nulls"] += array.null_count
    if pa.types.is_struct(kind):
        # Children of null structs are null.
        for field, child in zip(kind, array.flatten(), strict=True):
            _add(sums, f"{path}.{field.name}", child)
        return
    if pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type, False), ("value", kind.item_type)])
        array = array.cast(pa.list_(entry))
    if pa.types.is_list(array.type):
        _add(sums, f"{path}[]", array.flatten())
        return
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        array = pc.binary_length(array)
    elif pa.types.is_timestamp(kind):
        # Otherwise, sums would have more than 64 bits.
        array = pc.subtract(array.cast(pa.int64()), 1_767_000_000_000_000)
    sums[path] += (
        int(pc.sum(array).as_py() or 0) if not pa.types.is_floating(kind) else _quarters(array)
    )


def _quarters(array: Any) -> int:
    """Return the sum of doubles in quarters: they are multiples of these."""
    return round((pc.sum(array).as_py() or 0.0) * 4)
