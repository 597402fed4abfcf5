"""Sessions of jobs that tests run in their own processes, locally or on a standalone cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Queries are short: the second compiler would cost more than it gains.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def session_builder(master: str, name: str) -> SparkSession.Builder:
    """Return the builder of a session that listens on loopback only and takes little memory."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master(master)
        .appName(name)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", "600m")
        .config("spark.executor.cores", "2")
        .config("spark.executor.extraJavaOptions", _JVM)
        .config("spark.driver.extraJavaOptions", _JVM)
        .config("spark.python.unix.domain.socket.enabled", "true")
    )
