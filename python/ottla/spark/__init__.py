"""``format("ottla")``: Kafka topics as Spark DataFrames and back, without a jar.

``source`` is the entry point for Spark. ``planning`` runs on the driver, ``reading`` and
``writing`` on the executors; ``udf`` is for users.
Invariant: importing this package opens no connection, starts no thread and loads no module of it
until a name is used. Spark asks for the schema, plans and reads in separate processes, and each
imports what it needs before the first row arrives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla._internal.extras import explain, require
from ottla._internal.loading import load_later

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ottla.spark import udf
    from ottla.spark.clients import client, producer
    from ottla.spark.planning.stream_lag import Lag, lag
    from ottla.spark.reading.read_arrow import read_arrow
    from ottla.spark.registration.python_paths import OtherPythonWarning
    from ottla.spark.source import OttlaDataSource
    from ottla.spark.writing.write_report import (
        PartitionWritten,
        WriteReport,
        read_reports,
        write,
    )

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

if not TYPE_CHECKING:  # type checkers would take every name as defined
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

    Sessions that can import ``pyspark_ottla`` find the format without this call, but would print
    secrets whose names Spark's own pattern does not match: ``kafka.ssl.keystore.key`` and
    ``schema.registry.basic.auth.user.info`` are refused then, unless their names end with
    ``.secret``. This call extends the session's ``spark.sql.redaction.options.regex``.

    Warns with an ``ottla.spark.OtherPythonWarning`` if Spark would start a different Python for
    ottla than the one that calls this, for example because ``PYSPARK_PYTHON`` is not set.

    Args:
        spark: the session.

    Raises:
        ImportError: pyarrow is not installed, or PySpark is older than 4.0.
    """
    from pyspark.errors import PySparkException

    try:
        from ottla.spark.source import OttlaDataSource
    except ModuleNotFoundError as error:
        raise explain(error, "ottla.spark.register", "spark") from error
    from ottla.spark.registration.python_paths import warn_if_other_python
    from ottla.spark.registration.redaction import redact_secrets
    from ottla.spark.registration.registered_source import (
        is_registered,
        mark_redacted,
        registered_source_python,
    )

    redact_secrets(spark)

    path = registered_source_python(spark)
    if path is None and not is_registered(spark):
        try:
            spark.dataSource.register(OttlaDataSource)
        except PySparkException as error:
            # Spark refuses to replace a source that it discovered by itself: that one is ours.
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
        path = registered_source_python(spark)
    mark_redacted(spark)
    if path is not None:
        warn_if_other_python(spark, path, stacklevel=2)
