"""Options with secrets that Spark itself would print in plans: other names for them, and a check.

Spark prints the options of streams and of SQL statements, and redacts those whose name or value
matches ``spark.redaction.regex``. Invariant: a secret that the default of this setting does not
match is refused, unless ``register`` has made the session redact it; its name with ``.secret`` at
the end, which the setting matches, is always accepted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache

from ottla.errors import ConfigError

REDACTED_VARIABLE = "OTTLA_SPARK_OPTIONS_REDACTED"
"""The environment variable that ``register`` sets for the processes that make data sources."""

SUFFIX = ".secret"

_KAFKA_PREFIX = "kafka."
_REGISTRY_PREFIX = "schema.registry."
_REDACTED_BY_SPARK = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)


def plain_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options, whose names are in lower case, without the suffix of secrets.

    Raises:
        ConfigError: an option is given with and without it.
    """
    plain: dict[str, str] = {}
    for given, value in options.items():
        stripped = given.removesuffix(SUFFIX)
        name = stripped if stripped != given and is_secret(stripped) else given
        if name in plain:
            raise ConfigError(f"option {name} is set twice, with and without {SUFFIX}")
        plain[name] = value
    return plain


def check_redacted(options: Mapping[str, str]) -> None:
    """Refuse secrets that Spark would print.

    Raises:
        ConfigError: there is one, and the session is not known to redact it.
    """
    if os.environ.get(REDACTED_VARIABLE) or _is_in_connect():
        return
    for given, value in options.items():
        name = given.lower()
        if not is_secret(name) or _REDACTED_BY_SPARK.search(f"{name} {value}"):
            continue
        if "Krb5LoginModule" in value:
            # It has a key's file and a principal, and no secret.
            continue
        if name.endswith("proxy.url") and "@" not in value:
            # The address alone, without a password.
            continue
        raise ConfigError(
            f"option {given} is a secret that Spark would print in plans, on its web pages and in "
            f"its event log: call ottla.spark.register(spark) first, which redacts it, or name the "
            f"option {given}{SUFFIX}, which Spark redacts by itself"
        )


def is_secret(name: str) -> bool:
    """Whether the value of an option, whose name is in lower case, is a secret."""
    from ottla._core import config_row_of

    kafka, registry = _secret_rows()
    if name.startswith(_KAFKA_PREFIX):
        return config_row_of(name.removeprefix(_KAFKA_PREFIX)) in kafka
    if name.startswith(_REGISTRY_PREFIX):
        key = name.removeprefix(_REGISTRY_PREFIX)
        return key in registry or config_row_of(key) in kafka
    return False


@cache
def _secret_rows() -> tuple[frozenset[str], frozenset[str]]:
    from ottla._core import config_rows, registry_config_rows

    kafka, registry = (
        frozenset(row[0] for row in rows if row[1] == "password")
        for rows in (config_rows(), registry_config_rows())
    )
    return kafka, registry


def _is_in_connect() -> bool:
    # A client of Spark Connect can't mark the server's processes: `register` extends the session's
    # redaction there, and whether it was called is not known here.
    return os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default"
