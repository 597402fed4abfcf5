"""Wrong options of streams in Spark: an error of load(), or the last error that Spark prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

# Nothing connects.
BASE = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "orders"}


def last_error(message: str) -> str:
    """Return the last line of the last traceback that Spark quotes."""
    quoted = message.partition("SQLSTATE")[0]
    return quoted.strip().splitlines()[-1]


def load(spark: SparkSession, **options: str) -> DataFrame:
    return spark.readStream.format("ottla").options(**BASE).options(**options).load()


def test_load_rejects_options_that_no_stream_accepts(spark: SparkSession) -> None:
    wrong = [
        ({"startingOffset": "earliest"}, "unknown option 'startingoffset'"),
        ({"startingOffsets": "latest", "maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must"),
        ({"kafka.acks": "7"}, 'acks="7"'),
    ]
    for options, message in wrong:
        with pytest.raises(AnalysisException) as caught:
            load(spark, **options)
        last = last_error(str(caught.value))
        assert last.startswith("ottla.errors.ConfigError: "), caught.value
        assert message in last


def test_an_error_of_streams_alone_is_the_last_error(spark: SparkSession, tmp_path: Path) -> None:
    frame = load(spark, endingOffsets="latest")
    writing = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(StreamingQueryException) as caught:
        writing.start().awaitTermination(120)
    last = last_error(str(caught.value))
    assert last.startswith("ottla.errors.ConfigError: option endingOffsets is not valid")


def test_the_error_of_a_sink_is_the_last_error(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topik": "orders"}
    writing = frame.writeStream.format("ottla").options(**options)
    query = writing.option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination(120)
    last = last_error(str(caught.value))
    assert last.startswith("ottla.errors.ConfigError: unknown option 'topik'")
