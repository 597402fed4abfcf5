"""``format("ottla")``: Kafka topics as Spark DataFrames and back, without a jar.

Start at ``ottla.spark.source``; ``planning`` runs on the driver, ``batch_reader`` and ``writer`` on
executors. ``udf`` is for users.
Importing this package opens no connection and starts no thread. Invariant: it loads a module when a
name of it is first asked for. Spark asks for a schema, plans and reads in processes of their own,
each of which imports what it needs before the first row comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.extras import require
from ottla.loading import load_later

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.spark import udf
    from ottla.spark.clients import client, producer
    from ottla.spark.planning.stream_lag import Lag, lag
    from ottla.spark.reading.read_arrow import read_arrow
    from ottla.spark.registration.python_paths import OtherPythonWarning
    from ottla.spark.source import OttlaDataSource
    from ottla.spark.writing.write_report import PartitionWritten, WriteReport, read_reports, write

require("ottla.spark", "spark", "pyspark")

__all__ = [
    "Lag",
    "OtherPythonWarning",
    "OttlaDataSource",
    "PartitionWritten",
    "WriteReport",
    "client",
    "lag",
    "producer",
    "read_arrow",
    "read_reports",
    "register",
    "udf",
    "write",
]

if not TYPE_CHECKING:  # it would make every name one that exists
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "Lag": "planning.stream_lag",
            "OtherPythonWarning": "registration.python_paths",
            "OttlaDataSource": "source",
            "PartitionWritten": "writing.write_report",
            "WriteReport": "writing.write_report",
            "client": "clients",
            "lag": "planning.stream_lag",
            "producer": "clients",
            "read_arrow": "reading.read_arrow",
            "read_reports": "writing.write_report",
            "write": "writing.write_report",
        },
        {"udf"},
        extra="spark",
    )


def register(spark: SparkSession) -> None:
    """Register ``format("ottla")`` in this session, and redact all secrets in its options.

    Sessions that can import ``pyspark_ottla`` know the format already, and keep it, but show a
    private key in ``kafka.ssl.keystore.key`` in plans: Spark's own pattern does not match it. This
    extends the session's ``spark.sql.redaction.options.regex``.

    Warns with an ``ottla.spark.OtherPythonWarning`` if Spark would start another Python for ottla
    than the one that calls this, as where ``PYSPARK_PYTHON`` is not set.

    Args:
        spark: the session.

    Raises:
        ImportError: pyarrow is not installed.
    """
    from pyspark.errors import PySparkException

    from ottla.spark.registration.python_paths import warn_of_another_python
    from ottla.spark.registration.redaction import hide_secrets
    from ottla.spark.registration.registered_source import python_of_source
    from ottla.spark.source import OttlaDataSource

    hide_secrets(spark)

    path = python_of_source(spark)
    if path is None:
        try:
            spark.dataSource.register(OttlaDataSource)
        except PySparkException as error:
            # Spark refuses to replace a source that it discovered by itself: that one is ours.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
        path = python_of_source(spark)
    if path is not None:
        warn_of_another_python(spark, path, stacklevel=2)
