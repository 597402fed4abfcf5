"""Lets Spark find ``format("ottla")`` by itself: it looks into every module named ``pyspark_*``.

Spark imports this in every session that touches any Python data source. Invariant: importing it
loads nothing beyond pyspark, so a broken installation of ottla can't break other sources.
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
    from ottla.extras import explain

    raise explain(error, "format('ottla')", "spark") from error

if TYPE_CHECKING:
    from ottla.spark.source import OttlaDataSource

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """Stands in for ``ottla.spark.OttlaDataSource`` until a query really uses it."""

    @classmethod
    def name(cls) -> str:
        """The name that users give to ``format``."""
        return "ottla"

    def schema(self) -> StructType:
        """The columns of a read whose schema the user did not choose."""
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of a batch query."""
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """Make the reader of a stream."""
        return self._source().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Make the writer of a batch query."""
        return self._source().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        """Make the writer of a stream."""
        return self._source().streamWriter(schema, overwrite)

    def _source(self) -> OttlaDataSource:
        from ottla.spark.source import OttlaDataSource

        return OttlaDataSource(self.options)
