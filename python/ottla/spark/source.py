"""The data source that Spark knows as ``ottla``: hands out schemas, readers and writers.

Spark makes and pickles it several times in several processes. Invariant: nothing here does I/O;
a wrong option is reported before anything connects, by ``load()`` if it is wrong for batches and
for streams: which one it is, Spark says when it plans. What reads and what writes is loaded only
where it is asked for: the process that Spark asks for the schema alone needs neither.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from ottla.errors import ConfigError
from ottla.extras import require
from ottla.spark.options.read_options import (
    parse_batch,
    parse_batch_or_stream,
    parse_stream,
)
from ottla.spark.reading.schema import full_schema

# Spark itself needs it, to hand rows over.
require("format('ottla')", "spark", "pyarrow")


class OttlaDataSource(DataSource):
    """The data source ``ottla``, with the options and rows of Spark's Kafka source and sink."""

    @classmethod
    def name(cls) -> str:
        """Return the name that users pass to ``format``."""
        return "ottla"

    def schema(self) -> StructType:
        """Return the columns of a read for which the user names no schema."""
        # Also asked for streams, so what only batches refuse waits for the reader.
        source = parse_batch_or_stream(self.options)
        return full_schema(include_headers=source.include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query."""
        from ottla.spark.reading.batch_reader import batch_reader

        return batch_reader(parse_batch(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """Return the reader of a streaming query."""
        from ottla.spark.reading.stream_reader import RefusedStreamReader, stream_reader

        try:
            return stream_reader(parse_stream(self.options), schema)
        except ConfigError as error:
            # PySpark would fail once more where no reader was made, and print that error last.
            return RefusedStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch query."""
        from ottla.spark.options.write_options import parse_sink
        from ottla.spark.writing.writer import BatchWriter

        return BatchWriter(parse_sink(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        """Return the writer of a streaming query.

        Output mode complete appends, as in Spark's sink.
        """
        from ottla.spark.options.write_options import parse_sink
        from ottla.spark.writing.writer import stream_writer

        return stream_writer(parse_sink(self.options), schema)
