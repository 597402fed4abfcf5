"""The records of the benchmarks of typed columns are the same in all formats."""

from __future__ import annotations

from typing import Any

import fastavro
import pyarrow as pa
import pytest

from benches.schemas import protobuf, shapes
from benches.schemas.sums import leaf_sums


def table(shape: str, records: list[Any]) -> pa.Array:
    """Return an Arrow column of records."""
    return pa.array(records, shapes.arrow_type(shapes.avro_schema(shape)))


def fields(kind: pa.DataType) -> int:
    """Return the number of fields that are no structs."""
    if pa.types.is_struct(kind):
        return sum(fields(field.type) for field in kind)
    return fields(kind.value_type) if pa.types.is_list(kind) else 1


@pytest.mark.parametrize(("shape", "count"), [("flat", 10), ("nested", 40)])
def test_a_shape_has_so_many_fields(shape: str, count: int) -> None:
    """The schema is valid Avro, and its records are records of it."""
    assert fields(table(shape, []).type) == count
    schema = fastavro.parse_schema(shapes.avro_schema(shape))
    assert fastavro.validation.validate_many(shapes.records(shape, 100), schema)


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_messages_have_the_values_of_the_records(shape: str) -> None:
    """A message that is written and read gives the same table."""
    records, made = shapes.records(shape, 100), protobuf.message_class(shape)
    to_dict = protobuf.to_dict(shape)
    written = [protobuf.fill(made(), record).SerializeToString() for record in records]
    read = [to_dict(made.FromString(value)) for value in written]
    as_dicts = [table(shape, rows).to_pylist(maps_as_pydicts="strict") for rows in (read, records)]
    assert as_dicts[0] == as_dicts[1]


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_sums_tell_other_tables_apart(shape: str) -> None:
    """Parts add up to the whole in any order; one other value gives other sums."""
    records = shapes.records(shape, 60)
    whole = leaf_sums(table(shape, records))
    parts = leaf_sums(table(shape, records[40:]))
    parts.update(leaf_sums(table(shape, records).slice(0, 40)))
    assert parts == whole
    for name, other in (("id", -1), ("state", "x" * 20), ("tax", 0.25), ("paid", None)):
        changed = [{**records[0], name: other}, *records[1:]]
        assert leaf_sums(table(shape, changed)) != whole, name
