"""Whether a session knows ``format("ottla")`` already, and which Python Spark starts for it.

Called by ``register`` on the driver. Registering a source that Spark has found by itself replaces
it by the same, and Spark logs a warning then and at the start of each stream. Invariant: where
Spark's own objects are out of reach, as in a client of Spark Connect, nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def python_of_source(spark: SparkSession) -> str | None:
    """The Python that Spark starts for ottla, as it was configured; None if it does not know it."""
    session = getattr(spark, "_jsparkSession", None)
    if session is None:
        return None
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types

    try:
        sources = session.sessionState().dataSourceManager()
        # It starts a Python that looks for sources, once in a session; the first query would.
        if not sources.dataSourceExists("ottla"):
            return None
        return str(sources.lookupDataSource("ottla").dataSourceCls().pythonExec())
    except Py4JError:
        # Not of Spark's public interface: a version may have it otherwise.
        return None
