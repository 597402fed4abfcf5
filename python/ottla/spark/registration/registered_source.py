"""Finds whether a session has ``format("ottla")``, and which Python Spark starts for it.

Called by ``register`` on the driver. Registering a source that Spark has discovered by itself
replaces it with the same one, and Spark logs a warning then and at the start of each stream.
Invariant: nothing here changes the session. The path is None where Spark's JVM objects are out of
reach, as in a Spark Connect client.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_NOT_FOUND = "DATA_SOURCE_NOT_FOUND"


def registered_source_python(spark: SparkSession) -> str | None:
    """Return the path of the Python that Spark starts for ottla; None if it is not registered."""
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types

    try:
        sources = session.sessionState().dataSourceManager()
        # Once per session, this starts a Python to discover sources; else the first query would.
        if not sources.dataSourceExists("ottla"):
            return None
        return str(sources.lookupDataSource("ottla").dataSourceCls().pythonExec())
    except Py4JError:
        # A private interface of Spark, which other versions may not have.
        return None


def is_registered(spark: SparkSession) -> bool:
    """Whether a session has the format, by analyzing a read with it; for Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        # With a schema, Spark looks the source up and does not call it.
        _ = spark.read.format("ottla").schema("value binary").load().schema
    except PySparkException as error:
        return error.getCondition() != _NOT_FOUND
    except Exception as error:
        # In a session with a JVM, PySpark has no exception of its own for it. py4j's is not
        # imported, since a client of Spark Connect may be installed without it.
        if _NOT_FOUND not in str(error):
            raise
        return False
    return True


def mark_redacted(spark: SparkSession) -> None:
    """Let the processes that make the data source know that its options are redacted."""
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        return
    from py4j.protocol import Py4JError

    from ottla.spark.options.secret_options import REDACTED_VARIABLE

    try:
        found = session.sessionState().dataSourceManager().lookupDataSource("ottla")
        found.dataSourceCls().envVars().put(REDACTED_VARIABLE, "1")
    except Py4JError as error:
        # Options that Spark does not redact by itself are refused then.
        log.debug("the data source cannot be marked as redacted: %s", error)
