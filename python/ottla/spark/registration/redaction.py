"""Extends Spark's redaction to secrets in options that its own patterns do not match.

Called by ``register`` on the driver. Spark prints options in the plans of streams and of SQL
statements, and so in its web pages and event logs. It redacts an option whose name or value matches
``spark.redaction.regex`` (password, secret, token …) or ``spark.sql.redaction.options.regex``; only
the second can be set in a session. A Spark Connect server also keeps the text of each request,
which it redacts by another pattern, without regard to names. Invariant: what was redacted before is
still redacted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

OPTIONS_REGEX_SETTING = "spark.sql.redaction.options.regex"
# Options whose names do not look secret but whose values are.
OPTION_SECRETS_REGEX = (
    r"(?i:(?:kafka|registry)[.]ssl[.](?:keystore[.]key|key[.]pem)|kafka[.]sasl[.]jaas[.]config"
    r"|kafka[.]sasl[.]oauthbearer[.]assertion[.]private[.]key[.]p(?:em|assphrase)"
    r"|proxy[.]url|basic[.]auth[.]user[.]info|https?://[^/@]*:[^/@]*@)"
)

REQUEST_REGEX_SETTING = "spark.sql.redaction.string.regex"
# Applies while REQUEST_REGEX_SETTING is not set.
_CLUSTER_REQUEST_REGEX_SETTING = "spark.redaction.string.regex"
# An option as printed in a request. The pattern never backtracks: a long key would overflow the
# JVM's stack. It contains passwor[d] instead of the word, so that Spark does not redact the setting
# itself.
REQUEST_SECRETS_REGEX = (
    r'key: "(?i:(?:kafka|schema[.]registry)[.][^"]*'
    r'(?:passwor[d]|secre[t]|jaas[.]config|keystore[.]key|key[.]pem|passphras[e]|user[.]info|toke[n]|url))"\s*+'
    r'value: "[^"\\]*+(?:\\.[^"\\]*+)*+"'
)


def redact_secrets(spark: SparkSession) -> None:
    """Extend the redaction patterns of this session."""
    from pyspark.errors import PySparkException

    try:
        # Without a default: in a Spark Connect client, a default would hide Spark's own.
        _extend(
            spark,
            OPTIONS_REGEX_SETTING,
            spark.conf.get(OPTIONS_REGEX_SETTING),
            OPTION_SECRETS_REGEX,
        )
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            current = spark.conf.get(REQUEST_REGEX_SETTING) or spark.conf.get(
                _CLUSTER_REQUEST_REGEX_SETTING, ""
            )
            _extend(spark, REQUEST_REGEX_SETTING, current, REQUEST_SECRETS_REGEX)
    except PySparkException as error:
        log.warning(
            "Spark may print secrets of options, because it refused to redact more: %s", error
        )


def _extend(spark: SparkSession, setting: str, current: str | None, pattern: str) -> None:
    if pattern not in (current or ""):
        spark.conf.set(setting, f"(?:{current})|{pattern}" if current else pattern)
