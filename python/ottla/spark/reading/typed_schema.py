"""The schema of a read with typed columns: the columns that it may have, and the user's selection.

Called on the driver: ``source`` asks for the full schema, readers for a ``TypedRead``. Invariant:
the latest schema of a subject is looked up once for a query, and pinned by its id in the metadata
of the columns; all later steps read with that id.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from ottla.errors import ConfigError
from ottla.spark.formats import PinnedSchema, decoded_type, pin, pinned_schema
from ottla.spark.options.read_options import CommonOptions
from ottla.spark.options.typed_columns import TypedColumn
from ottla.spark.reading.schema import check_column, plain_columns
from ottla.spark.reading.spark_types import to_spark_type
from ottla.spark.reading.typed_read import ERROR_COLUMN, TypedRead

# The metadata of a column: the schema that it is read with, and the column of the record.
_DESCRIPTION = "ottla.schema"
_ID = "ottla.schema.id"
_COLUMN = "ottla.column"


@dataclass(frozen=True)
class SourceColumn:
    """A column that a read may have.

    Attributes:
        field: its name and type.
        source: the column of the scan that it comes from.
        is_flattened: whether it is a field of that column.
        typed: how that column is decoded; None for a plain column.
    """

    field: StructField
    source: str
    is_flattened: bool = False
    typed: TypedColumn | None = None


def full_typed_schema(common: CommonOptions) -> StructType:
    """Return all columns of a read, in the order of Spark's Kafka source."""
    return StructType([column.field for column in _available(common, {})])


def resolve_typed_read(common: CommonOptions, schema: StructType) -> TypedRead:
    """Check the schema of a read, and return its columns; raise ConfigError for other schemas.

    Typed columns are read with the schema that ``full_typed_schema`` pinned, or if the user gave
    the schema of the read, with the latest one now.
    """
    available = _available(replace(common, include_headers=True), _pinned_ids(schema))
    known = {column.field.name: column for column in available}
    if not schema.fields:
        raise ConfigError(f"the schema is empty; name one or more of: {', '.join(known)}")
    chosen: dict[str, SourceColumn] = {}
    for field in schema.fields:
        column = known.get(field.name)
        if column is None:
            raise _unknown(field.name, known)
        if field.name in chosen:
            raise ConfigError(f"column {field.name!r} is in the schema twice")
        if column.source == field.name and column.typed is None and column.source != ERROR_COLUMN:
            check_column(field)
        else:
            _check_selection(field.dataType, column.field.dataType, field.name)
            if not field.nullable:
                raise _not_nullable(field.name)
        chosen[field.name] = column
    columns = list(chosen.values())
    sources = tuple((column.source, column.is_flattened) for column in columns)
    return TypedRead(schema, sources, _selected_typed(schema, columns, common))


def _available(common: CommonOptions, ids: Mapping[str, int]) -> list[SourceColumn]:
    typed = {one.column: one for one in common.typed.each()}
    columns: list[SourceColumn] = []
    for field in plain_columns(include_headers=common.include_headers):
        if field.name in typed:
            columns += _typed_columns(typed[field.name], ids.get(field.name))
        else:
            columns.append(SourceColumn(field, field.name))
    if common.typed.has_errors:
        columns.append(SourceColumn(StructField(ERROR_COLUMN, StringType()), ERROR_COLUMN))
    seen: set[str] = set()
    for column in columns:
        if column.field.name in seen:
            raise ConfigError(
                f"option {column.source}.flatten: the schema has a field {column.field.name!r}, "
                "which is the name of another column; read the struct instead"
            )
        seen.add(column.field.name)
    return columns


def _typed_columns(typed: TypedColumn, schema_id: int | None) -> list[SourceColumn]:
    pinned = None
    if schema_id is None:
        pinned = pinned_schema(typed)
        schema_id = None if pinned is None else pinned.id
    typed = pin(typed, schema_id)
    spark_type = to_spark_type(decoded_type(typed), typed.column)
    metadata = _metadata(typed, pinned)
    if not typed.flatten:
        field = StructField(typed.column, spark_type, metadata=metadata)
        return [SourceColumn(field, typed.column, typed=typed)]
    if not isinstance(spark_type, StructType):
        raise ConfigError(
            f"option {typed.column}.flatten: the schema is {spark_type.simpleString()}, which has "
            "no fields"
        )
    return [
        SourceColumn(
            StructField(field.name, field.dataType, metadata=metadata),
            typed.column,
            is_flattened=True,
            typed=typed,
        )
        for field in spark_type.fields
    ]


def _metadata(typed: TypedColumn, pinned: PinnedSchema | None) -> dict[str, Any]:
    if pinned is None:
        return {}
    return {_DESCRIPTION: pinned.description, _ID: pinned.id, _COLUMN: typed.column}


def _pinned_ids(schema: StructType) -> dict[str, int]:
    """Return the ids of the schemas that ``full_typed_schema`` pinned, by column."""
    ids: dict[str, int] = {}
    for field in schema.fields:
        metadata = field.metadata or {}
        schema_id, column = metadata.get(_ID), metadata.get(_COLUMN)
        if isinstance(schema_id, int) and isinstance(column, str):
            ids.setdefault(column, schema_id)
    return ids


def _selected_typed(
    schema: StructType, chosen: list[SourceColumn], common: CommonOptions
) -> tuple[TypedColumn, ...]:
    """Return the typed columns that a read needs, each with the fields to decode."""
    reads_errors = any(column.source == ERROR_COLUMN for column in chosen)
    needed: dict[str, TypedColumn] = {}
    fields: dict[str, list[str] | None] = {}
    for field, column in zip(schema.fields, chosen, strict=True):
        if column.typed is None:
            continue
        needed[column.source] = column.typed
        paths = None if field.dataType == column.field.dataType else list(_paths(field.dataType))
        if column.is_flattened:
            name = _quote(field.name)
            paths = [name] if paths is None else [f"{name}.{path}" for path in paths]
        known = fields.setdefault(column.source, [])
        fields[column.source] = None if paths is None or known is None else known + paths
    if reads_errors:
        for typed in common.typed.each():
            needed.setdefault(typed.column, typed)
    result = []
    for source, typed in needed.items():
        selected = fields.get(source)
        result.append(typed if selected is None else replace(typed, fields=tuple(selected)))
    return tuple(result)


def _paths(data_type: DataType) -> Iterator[str]:
    """Yield the path of each field of a type that is no struct itself."""
    match data_type:
        case StructType():
            for field in data_type.fields:
                inner = list(_paths(field.dataType))
                name = _quote(field.name)
                yield from [f"{name}.{path}" for path in inner] or [name]
        case ArrayType():
            yield from _paths(data_type.elementType)
        case MapType():
            yield from _paths(data_type.valueType)


def _quote(name: str) -> str:
    return f"`{name}`" if "." in name else name


def _check_selection(wanted: DataType, actual: DataType, path: str) -> None:
    """Raise a ConfigError unless a type selects fields of the decoded one."""
    match wanted, actual:
        case StructType(), StructType():
            if not wanted.fields:
                raise ConfigError(f"column {path!r} selects no field")
            known = {field.name: field for field in actual.fields}
            for field in wanted.fields:
                inner = f"{path}.{field.name}"
                if field.name not in known:
                    raise _unknown(inner, {f"{path}.{name}": None for name in known})
                if not field.nullable:
                    raise _not_nullable(inner)
                _check_selection(field.dataType, known[field.name].dataType, inner)
        case ArrayType(), ArrayType():
            if not wanted.containsNull:
                raise _not_nullable(f"{path}.element")
            _check_selection(wanted.elementType, actual.elementType, f"{path}.element")
        case MapType(), MapType():
            if wanted.keyType != actual.keyType:
                raise _other_type(f"{path}.key", wanted.keyType, actual.keyType)
            if not wanted.valueContainsNull:
                raise _not_nullable(f"{path}.value")
            _check_selection(wanted.valueType, actual.valueType, f"{path}.value")
        case _:
            if wanted != actual:
                raise _other_type(path, wanted, actual)


def _unknown(name: str, known: Mapping[str, object]) -> ConfigError:
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"the columns are: {', '.join(known)}"
    return ConfigError(f"a Kafka record has no column {name!r}; {hint}")


def _other_type(path: str, wanted: DataType, actual: DataType) -> ConfigError:
    return ConfigError(
        f"column {path!r} is {actual.simpleString()}, not {wanted.simpleString()}; read it as that "
        "type and CAST it afterwards"
    )


def _not_nullable(path: str) -> ConfigError:
    return ConfigError(f"column {path!r} can be null in Kafka; declare it nullable")
