"""Parsers for option names and values, which Spark passes as text, with names in any case.

Called by ``read_options`` and ``write_options``. Invariant: a value that cannot be parsed is a
ConfigError that names the option and the accepted values; no message contains a ``kafka.*`` value.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from ottla._internal.planning.offset_range import INT64_MAX
from ottla.errors import ConfigError
from ottla.spark.options.secret_options import plain_names

KAFKA_PREFIX = "kafka."
BOOTSTRAP_SERVERS = "kafka.bootstrap.servers"

INT32_MAX = 2**31 - 1

OptionValue = str | int | bool
"""The types that programs may use for an option, as with Spark's own ``option()``."""

# Spark passes these to the sink of a stream as well, where they have no effect.
QUERY_OPTION_NAMES = (
    "checkpointLocation",
    "queryName",
    "asyncProgressTrackingEnabled",
    "asyncProgressTrackingCheckpointIntervalMs",
    "asyncProgressTrackingOverrideSinkSupportCheck",
)
_QUERY_OPTIONS = {name.lower(): name for name in QUERY_OPTION_NAMES}

# For a permanent table, Spark passes either this option alone or none.
_TABLE_OPTION = "provider"

_ANY_SERVERS = {"bootstrap.servers": "localhost:9092"}
_SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_SECONDS_PER_UNIT = {
    "": 1e-3,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def normalize_options(options: Mapping[str, OptionValue]) -> dict[str, str]:
    """Return the options with lower-case names, since Spark ignores case, and values as text.

    Spark's own values are text already; those of programs that call ottla directly may not be.
    Names of secrets lose the suffix by which Spark redacts them.
    """
    return plain_names({name.lower(): _to_text(name, value) for name, value in options.items()})


def _to_text(name: str, value: OptionValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    raise ConfigError(f"option {name} must be a string, a whole number or a boolean")


def check_option_names(
    values: Mapping[str, str],
    known: Iterable[str],
    suggestions: Mapping[str, str] | None = None,
    prefixes: tuple[str, ...] = (KAFKA_PREFIX,),
) -> None:
    """Reject each option that is neither known nor a setting with a prefix, and suggest a name.

    ``suggestions`` has names that users of other clients would try and that are not spelled like
    the right one. Options that belong to the streaming query get a message of their own.
    """
    if not values or _TABLE_OPTION in values:
        raise ConfigError(
            "no options were received: Spark passes none of a permanent table's options (CREATE "
            "TABLE … USING ottla, saveAsTable) to a Python source. Set them on the query, with "
            "spark.read.options(…).table(…) or SELECT … FROM … WITH (…), or read through CREATE "
            "TEMPORARY VIEW … USING ottla OPTIONS (…), and write with save()"
        )
    names = {name.lower(): name for name in known}
    for name in values:
        if name in names or name.startswith(prefixes):
            continue
        if name in _QUERY_OPTIONS:
            raise ConfigError(
                f"option {_QUERY_OPTIONS[name]} belongs to a streaming query: set it on "
                "writeStream; it has no effect here"
            )
        nearest = (suggestions or {}).get(name) or next(
            (names[match] for match in difflib.get_close_matches(name, names, n=1)), None
        )
        hint = f"did you mean {nearest}?" if nearest else "Kafka's own settings start with kafka."
        raise ConfigError(f"unknown option {name!r}: {hint}")


def kafka_config(values: Mapping[str, str], unsupported: Mapping[str, str]) -> dict[str, str]:
    """Return the client's configuration from the ``kafka.*`` options.

    ``unsupported`` maps settings that Spark controls to the reason why they cannot be set.
    """
    config = {
        name[len(KAFKA_PREFIX) :]: value
        for name, value in values.items()
        if name.startswith(KAFKA_PREFIX)
    }
    for name in config:
        # By canonical key, so that another client's name for a setting is rejected as well.
        if reason := unsupported.get(name) or unsupported.get(canonical_key(name)):
            raise ConfigError(f"option kafka.{name} is not supported: {reason}")
    if not config.get("bootstrap.servers", "").strip():
        raise ConfigError(
            f"option {BOOTSTRAP_SERVERS} must be set, for example to host1:9092,host2:9092"
        )
    _check_config(config)
    return config


def canonical_key(name: str) -> str:
    """Return Kafka's key for a setting that may have another client's name."""
    from ottla._core import config_row_of

    return config_row_of(name) or name


def check_transactions(config: Mapping[str, str]) -> None:
    """Raise a ConfigError if a setting of the producer does not allow transactions."""
    names = ("acks", "retries", "enable.idempotence", "max.in.flight.requests.per.connection")
    settings = {name: value for name, value in config.items() if canonical_key(name) in names}
    _check_with_client({**_ANY_SERVERS, "transactional.id": "any", **settings}, "exactlyOnce")


def _check_with_client(config: Mapping[str, str], option: str) -> None:
    """Create a client, which connects to nothing; its error names the option."""
    import ottla

    try:
        ottla.AsyncClient(config=config)
    except ConfigError as error:
        raise ConfigError(f"option {option}: {error}") from None


def _check_config(config: Mapping[str, str]) -> None:
    from ottla._core import config_rows

    known = {name for name, *_ in config_rows()}
    for name in sorted(config.keys() - known):
        # The client also accepts settings without effect, and names of other clients.
        _check_with_client({**_ANY_SERVERS, name: config[name]}, KAFKA_PREFIX + name)
    # Settings that read files or import a module are checked by the client that connects.
    deferred = ("security.protocol", "sasl.oauthbearer.token.provider")
    now = {name: value for name, value in config.items() if name not in deferred}
    _check_with_client(now, f"{KAFKA_PREFIX}…")
    protocol = config.get("security.protocol", "PLAINTEXT")
    if protocol.strip().upper() not in _SECURITY_PROTOCOLS:
        _check_with_client({"security.protocol": protocol}, f"{KAFKA_PREFIX}security.protocol")


def parse_bool(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    """Parse ``true`` or ``false``, in any case."""
    text = values.get(name.lower())
    if text is None:
        return default
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise invalid_value(name, text, "true or false")


def parse_int(
    values: Mapping[str, str], name: str, *, minimum: int = 1, maximum: int = INT64_MAX
) -> int | None:
    """Parse an integer; None if the option is not set."""
    text = values.get(name.lower())
    if text is None:
        return None
    value = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text) else minimum - 1
    if not minimum <= value <= maximum:
        raise invalid_value(name, text, f"a whole number from {minimum} to {maximum}")
    return value


def parse_text(values: Mapping[str, str], option: str) -> str | None:
    """Parse a text that is not blank; None if the option is not set."""
    text = values.get(option.lower())
    if text is None:
        return None
    if not (stripped := text.strip()):
        raise ConfigError(f"option {option} is empty")
    return stripped


def parse_millis(values: Mapping[str, str], name: str, *, default: float) -> float:
    """Parse milliseconds, and return seconds."""
    milliseconds = parse_int(values, name, minimum=0, maximum=INT32_MAX)
    return default if milliseconds is None else milliseconds / 1000


def parse_duration(values: Mapping[str, str], name: str, *, default: float) -> float:
    """Parse a duration such as ``15m``, in Spark's units (default: ms), and return seconds."""
    text = values.get(name.lower())
    if text is None:
        return default
    match = re.fullmatch(r"([0-9]{1,19})([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _SECONDS_PER_UNIT:
        raise invalid_value(name, text, "a duration such as 90s, 15m or 2h")
    return int(match[1]) * _SECONDS_PER_UNIT[match[2]]


def invalid_value(name: str, text: str, expected: str) -> ConfigError:
    """Return the error for an option whose value is not ``expected``."""
    return ConfigError(f"option {name} must be {expected}, got {text[:100]!r}")
