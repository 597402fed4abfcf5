"""Has Spark hide what is secret in options and what its own patterns do not find.

Called by ``register`` on the driver. Spark prints options in the plans of streams and of SQL
statements, and with them in its web pages and event logs; it hides those in whose name or value
``spark.redaction.regex`` (password, secret, token …) or ``spark.sql.redaction.options.regex`` is
found. Only the second can be set in a session. A server of Spark Connect keeps the text of each
request as well, without looking at names. Invariant: what was hidden before stays hidden.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

SETTING = "spark.sql.redaction.options.regex"
# Secrets by names that say nothing of the sort.
HIDDEN = r"(?i:kafka[.]ssl[.](?:keystore[.]key|key[.]pem)|kafka[.]sasl[.]jaas[.]config)"

OF_REQUESTS = "spark.sql.redaction.string.regex"
# What holds while that is not set.
_OF_ALL_REQUESTS = "spark.redaction.string.regex"
# An option as requests are printed. Nothing of it is tried twice, or a long key would take the
# JVM's stack; and its words are not those that would have Spark hide this setting itself.
IN_REQUESTS = (
    r'key: "(?i:kafka[.][^"]*(?:passwor[d]|secre[t]|jaas[.]config|keystore[.]key|key[.]pem))"\s*+'
    r'value: "[^"\\]*+(?:\\.[^"\\]*+)*+"'
)


def hide_secrets(spark: SparkSession) -> None:
    """Extend what this session hides, for as long as it lasts."""
    from pyspark.errors import PySparkException

    try:
        # Without a default: where a client asks a server, it would hide Spark's own.
        _extend(spark, SETTING, spark.conf.get(SETTING), HIDDEN)
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            before = spark.conf.get(OF_REQUESTS) or spark.conf.get(_OF_ALL_REQUESTS, "")
            _extend(spark, OF_REQUESTS, before, IN_REQUESTS)
    except PySparkException as error:
        log.warning("Spark may print secrets of options, for it lets no more be hidden: %s", error)


def _extend(spark: SparkSession, setting: str, hidden: str | None, pattern: str) -> None:
    if pattern not in (hidden or ""):
        spark.conf.set(setting, f"(?:{hidden})|{pattern}" if hidden else pattern)
