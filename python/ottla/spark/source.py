"""The data source that Spark knows as ``ottla``: returns schemas, readers and writers.

Spark creates and pickles it several times in several processes. Invariant: a wrong option is
reported before anything connects; only typed columns do I/O here, to look up their schema.
``load()`` reports what is wrong for batches and streams alike; only when Spark plans does it say
which of the two it wants. Readers and writers are imported in the methods that return them: a
process that only asks for the schema needs neither.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from ottla._internal.extras import require
from ottla.errors import ConfigError
from ottla.spark.options.read_options import (
    parse_batch_options,
    parse_batch_or_stream_options,
    parse_stream_options,
)
from ottla.spark.options.secret_options import check_redacted
from ottla.spark.reading.columns import full_columns

# Spark needs it to transfer rows.
require("format('ottla')", "spark", "pyarrow")


class OttlaDataSource(DataSource):
    """The data source ``ottla``, with the options and rows of Spark's Kafka source and sink."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        # Before Spark has a plan that it could print.
        check_redacted(options)

    @classmethod
    def name(cls) -> str:
        """Return the name that users pass to ``format``."""
        return "ottla"

    def schema(self) -> StructType:
        """Return the columns of a read for which the user names no schema."""
        # Spark calls this for streams too, so errors of batches alone wait for the reader.
        common = parse_batch_or_stream_options(self.options)
        return full_columns(common)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query."""
        from ottla.spark.reading.batch_reader import make_batch_reader

        return make_batch_reader(parse_batch_options(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's name)
        """Return the reader of a streaming query."""
        from ottla.spark.reading.stream_reader import FailingStreamReader, make_stream_reader

        try:
            return make_stream_reader(parse_stream_options(self.options), schema)
        except ConfigError as error:
            # Without a reader, PySpark fails a second time and prints that error last.
            return FailingStreamReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch query."""
        from ottla.spark.options.write_options import parse_write_options
        from ottla.spark.writing.writer import BatchWriter

        return BatchWriter(parse_write_options(self.options), schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        """Return the writer of a streaming query.

        Output mode complete appends, as in Spark's sink.
        """
        from ottla.spark.options.write_options import parse_write_options
        from ottla.spark.writing.writer import make_stream_writer

        return make_stream_writer(parse_write_options(self.options), schema)


def source_of_checked_options(options: MutableMapping[str, str]) -> OttlaDataSource:
    """Return the source of options that `check_redacted` has seen when Spark made its own source.

    Spark asks that one for a stream's reader in a process that doesn't know whether its session is
    one of Spark Connect.
    """
    source = OttlaDataSource.__new__(OttlaDataSource)
    DataSource.__init__(source, options)
    return source
