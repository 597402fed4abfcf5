"""How a task reads typed columns: what it scans, and how a batch becomes the rows of the schema.

Made by ``typed_schema`` on the driver, and pickled to tasks. Invariant: a task decodes the fields
that the schema of the read has, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from ottla.spark.formats import formats_of
from ottla.spark.options.typed_columns import TypedColumn
from ottla.spark.reading.row_filters import RowFilter, matching_rows, row_filters
from ottla.spark.reading.spark_types import cast, to_arrow_field

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

    from ottla.spark.protocols import Formats

ERROR_COLUMN = "_error"


@dataclass(frozen=True)
class TypedRead:
    """The columns of a read with typed columns.

    Attributes:
        schema: the columns, in their order.
        sources: the column of the scan that each comes from, and whether it is a field of it.
        typed: the typed columns of the scan.
        filters: filters on decoded fields.
    """

    schema: StructType
    sources: tuple[tuple[str, bool], ...]
    typed: tuple[TypedColumn, ...]
    filters: tuple[RowFilter, ...] = ()

    def with_filters(self, filters: Iterable[Filter]) -> TypedRead:
        """Return the same read with those of Spark's filters that tasks can apply."""
        decoded = StructType(
            [
                field
                for field, (source, _) in zip(self.schema.fields, self.sources, strict=True)
                if any(source == typed.column for typed in self.typed)
            ]
        )
        return replace(self, filters=row_filters(filters, decoded))

    def arrow_schema(self) -> pa.Schema:
        """Return the exact Arrow schema of the batches, as Spark derives it."""
        import pyarrow as pa

        return pa.schema([to_arrow_field(field) for field in self.schema.fields])

    def scan_columns(self) -> list[str]:
        """Return the columns to scan: each once, and those that decoding needs."""
        names = [source for source, _ in self.sources if source != ERROR_COLUMN]
        names += [typed.column for typed in self.typed]
        return list(dict.fromkeys(names))

    def formats(self) -> Formats:
        """Return this process's decoders, as arguments of a scan."""
        return formats_of(self.typed)

    def to_spark(self, batch: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
        """Return a batch of the scan with exactly the expected schema."""
        import pyarrow as pa

        columns = []
        for (source, is_flattened), field in zip(self.sources, expected, strict=True):
            array = batch.column(source)
            if is_flattened:
                array = _field_of(array, field.name)
            columns.append(cast(array, field.type))
        return matching_rows(pa.RecordBatch.from_arrays(columns, schema=expected), self.filters)


def _field_of(array: pa.Array, name: str) -> pa.Array:
    """Return a field of a struct column, null where the struct is."""
    import pyarrow.compute as pc

    return pc.struct_field(array, [array.type.get_field_index(name)])
