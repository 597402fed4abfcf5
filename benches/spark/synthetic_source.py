"""A source that generates rows and a sink that discards them: the cost of the transfer alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def generating_source(partitions: int) -> Any:
    """Return a data source, `generated`, of `rows` rows with values of `bytes` bytes."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.types import StructType

    # Local classes, so that they are pickled by value.
    class Reader(DataSourceReader):
        def __init__(self, rows: int, value_bytes: int, schema: StructType) -> None:
            self._rows, self._bytes, self._schema = rows, value_bytes, schema

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(number) for number in range(partitions)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import pyarrow as pa

            from ottla.spark.clients import freeze_gc
            from ottla.spark.reading.schema import arrow_schema

            freeze_gc()
            schema = arrow_schema(self._schema)
            size = 3_500_000 // self._bytes  # about 4 MB, like ottla's batches
            columns = {
                "key": lambda: pa.nulls(size, pa.binary()),
                "value": lambda: pa.array([bytes(self._bytes)] * size, pa.binary()),
                "topic": lambda: pa.array(["batch-read"] * size),
                "partition": lambda: pa.array([partition.value] * size, pa.int32()),
                "offset": lambda: pa.array(range(size), pa.int64()),
                "timestamp": lambda: pa.array(range(size), pa.timestamp("us", "UTC")),
                "timestampType": lambda: pa.array([0] * size, pa.int32()),
            }
            arrays = [columns[name]() for name in schema.names]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            remaining = self._rows // partitions
            remaining += partition.value < self._rows % partitions
            while remaining:
                yield batch.slice(0, min(remaining, size))
                remaining -= min(remaining, size)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "generated"

        def schema(self) -> StructType:
            from ottla.spark.reading.schema import full_schema

            return full_schema(include_headers=False)

        def reader(self, schema: StructType) -> DataSourceReader:
            return Reader(int(self.options["rows"]), int(self.options["bytes"]), schema)

    return Source


def discarding_sink() -> Any:
    """Return a data source, `discarding`, that takes Arrow batches and discards them."""
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
    from pyspark.sql.types import StructType

    class Writer(DataSourceArrowWriter):
        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            from ottla.spark.clients import freeze_gc

            freeze_gc()
            for _ in iterator:
                pass
            return WriterCommitMessage()

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "discarding"

        def writer(self, schema: StructType, overwrite: bool) -> Writer:  # noqa: ARG002 (Spark's)
            return Writer()

    return Source
