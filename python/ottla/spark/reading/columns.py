"""The columns of a read, plain or typed, as the driver resolves them.

Called by ``source``, the readers and ``read_arrow``. Invariant: a read without typed columns does
no I/O here, and loads no module of typed columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.spark.reading.schema import PlainRead, check_schema, full_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ottla.spark.options.read_options import CommonOptions
    from ottla.spark.protocols import Columns
    from ottla.spark.reading.partition_reader import PartitionReader


def full_columns(common: CommonOptions) -> StructType:
    """Return the columns of a read for which the user names no schema."""
    if not common.typed.each():
        return full_schema(include_headers=common.include_headers)
    from ottla.spark.reading.typed_schema import full_typed_schema

    return full_typed_schema(common)


def read_columns(common: CommonOptions, schema: StructType) -> Columns:
    """Check the schema of a read, on the driver, and return the columns that its tasks read."""
    if not common.typed.each():
        check_schema(schema)
        return PlainRead(schema)
    from ottla.spark.reading.typed_schema import resolve_typed_read

    return resolve_typed_read(common, schema)


def partition_reader(common: CommonOptions, schema: StructType) -> PartitionReader:
    """Check the schema of a read, and return the reader of its tasks."""
    from ottla.spark.reading.partition_reader import PartitionReader

    columns = read_columns(common, schema)
    return PartitionReader(common.kafka, columns, fail_on_data_loss=common.fail_on_data_loss)
