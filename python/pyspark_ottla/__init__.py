"""Lets Spark discover ``format("ottla")``: it searches all modules named ``pyspark_*``.

Spark imports this in every session that uses any Python data source. Invariant: the import loads
nothing but pyspark, so a broken installation of ottla can't break other sources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType
except ModuleNotFoundError as error:
    from ottla._internal.extras import explain

    raise explain(error, "format('ottla')", "spark") from error

if TYPE_CHECKING:
    from ottla.spark.source import OttlaDataSource

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """The data source ``ottla``; it loads ``ottla.spark.OttlaDataSource`` on first use."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        from ottla.spark.options.secret_options import check_redacted

        # Spark may not ask for the schema before it prints a plan.
        check_redacted(options)

    @classmethod
    def name(cls) -> str:
        """Return the name that users pass to ``format``."""
        return "ottla"

    def schema(self) -> StructType:
        """Return the columns of a read for which the user names no schema."""
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query."""
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """Return the reader of a streaming query."""
        return self._source().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch query."""
        return self._source().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Return the writer of a streaming query."""
        return self._source().streamWriter(schema, overwrite)

    def _source(self) -> OttlaDataSource:
        from ottla.spark.source import source_of_checked_options

        return source_of_checked_options(self.options)
