"""Arrow: write a data frame, read the topic with polars and DuckDB, without a copy.

pip install ottla polars duckdb pyarrow
python examples/arrow_polars_duckdb.py                      # with a Kafka cluster in the process
OTTLA_BOOTSTRAP=host:9092 python examples/arrow_polars_duckdb.py
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import duckdb
import polars as pl
import pyarrow as pa

import ottla
from ottla.testing import MockCluster

TOPIC = "example-readings"
ROWS = 100_000


@contextlib.contextmanager
def kafka() -> Iterator[str]:
    """The address of a cluster: yours, or one that lives in this process."""
    if given := os.environ.get("OTTLA_BOOTSTRAP"):
        yield given
    else:
        with MockCluster(brokers=3, default_partitions=4) as cluster:
            yield cluster.bootstrap


def main() -> None:
    readings = pl.DataFrame({"sensor": range(ROWS)}).select(
        key=(pl.col("sensor") % 100).cast(pl.String),
        value=pl.col("sensor").cast(pl.String),
    )
    with kafka() as bootstrap:
        with ottla.Producer(bootstrap, compression_type="zstd") as producer:
            producer.send_batch(TOPIC, readings).result(timeout=60)

        frame = pl.DataFrame(ottla.scan(TOPIC, bootstrap=bootstrap, columns=["key", "value"]))
        sensors = frame.select(pl.col("key").cast(pl.String).n_unique()).item()
        print(f"polars: {frame.height} rows of {sensors} sensors")

        scan = ottla.scan(TOPIC, bootstrap=bootstrap, columns=["partition", "offset"])
        reader = pa.RecordBatchReader.from_stream(scan)
        partitions = (
            duckdb.from_arrow(reader).aggregate('"partition", max("offset") + 1').fetchall()
        )
        print(
            f"DuckDB: {sum(count for _, count in partitions)} rows in {len(partitions)} partitions"
        )


if __name__ == "__main__":
    main()
