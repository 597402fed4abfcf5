"""``format("ottla")``: Kafka topics as Spark DataFrames and back, without a jar.

Start at :mod:`ottla.spark.source`; ``planning`` runs on the driver, ``batch_reader`` and ``writer``
on executors. ``udf`` is for users.
Importing this package opens no connection and starts no thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.spark.arrow_reading import read_arrow
from ottla.spark.clients import client, producer
from ottla.spark.lag import Lag, lag
from ottla.spark.source import OttlaDataSource
from ottla.spark.write_report import PartitionWritten, WriteReport, read_reports, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Lag",
    "OttlaDataSource",
    "PartitionWritten",
    "WriteReport",
    "client",
    "lag",
    "producer",
    "read_arrow",
    "read_reports",
    "register",
    "write",
]


def register(spark: SparkSession) -> None:
    """Make ``format("ottla")`` known to this session.

    Sessions that can import ``pyspark_ottla`` know it already; calling this is then harmless.
    """
    from pyspark.errors import PySparkException

    try:
        spark.dataSource.register(OttlaDataSource)
    except PySparkException as error:
        # Spark refuses to replace a source that it discovered by itself: that one is ours.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
