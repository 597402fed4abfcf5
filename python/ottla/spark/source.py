"""The data source that Spark knows as ``ottla``: hands out schemas and readers.

Spark makes and pickles it several times in several processes. Invariant: nothing here does I/O;
a wrong option is reported before anything connects.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from ottla.spark.batch_reader import BatchReader
from ottla.spark.options import parse_batch, parse_source
from ottla.spark.schema import full_schema


class OttlaDataSource(DataSource):
    """``spark.read.format("ottla")``, with the options and rows of Spark's Kafka source."""

    @classmethod
    def name(cls) -> str:
        """The name that users give to ``format``."""
        return "ottla"

    def schema(self) -> StructType:
        """The columns of a read whose schema the user did not choose."""
        # Also asked for streams, so what only batches refuse waits for the reader.
        return full_schema(include_headers=parse_source(self.options).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader of a batch query."""
        return BatchReader(parse_batch(self.options), schema)
