"""Reading option values: Spark hands over texts, under names in any case.

Called by ``options`` and ``sink_options``. Invariant: a value that is not understood is a
ConfigError that names the option and what it may be; a ``kafka.*`` value appears in no message.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from ottla.errors import ConfigError

KAFKA_PREFIX = "kafka."
BOOTSTRAP = "kafka.bootstrap.servers"

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

Value = str | int | bool
"""What programs may give for an option, as with Spark's own ``option()``."""

# Spark hands these to the sink of a stream as well, for which they mean nothing.
QUERY_OPTIONS = (
    "checkpointLocation",
    "queryName",
    "asyncProgressTrackingEnabled",
    "asyncProgressTrackingCheckpointIntervalMs",
    "asyncProgressTrackingOverrideSinkSupportCheck",
)
_OF_QUERIES = {name.lower(): name for name in QUERY_OPTIONS}

# All that Spark hands over of a permanent table, if anything.
_OF_TABLES = "provider"

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_UNITS = {
    "": 1e-3,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def lowered(options: Mapping[str, Value]) -> dict[str, str]:
    """The options by lower-case name, for Spark's names have no case; with values as texts.

    Spark makes them that already; here come those of programs that call ottla themselves.
    """
    return {name.lower(): _text(name, value) for name, value in options.items()}


def _text(name: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    raise ConfigError(f"option {name} must be a text, a whole number or a boolean")


def check_names(
    values: Mapping[str, str], known: Iterable[str], meant: Mapping[str, str] | None = None
) -> None:
    """Refuse an option that is neither known nor Kafka's, and name the one that was meant.

    ``meant`` says what writers of another client's options would reach for, where spelling alone
    does not tell. What is Spark's own and belongs elsewhere is told so.
    """
    if not values or _OF_TABLES in values:
        raise ConfigError(
            "no options have come: Spark hands a Python source none of those of a permanent table "
            "(CREATE TABLE … USING ottla, saveAsTable); give them to the query, with "
            "spark.read.options(…).table(…) or SELECT … FROM … WITH (…), or read through CREATE "
            "TEMPORARY VIEW … USING ottla OPTIONS (…), and write with save()"
        )
    names = {name.lower(): name for name in known}
    for name in values:
        if name in names or name.startswith(KAFKA_PREFIX):
            continue
        if name in _OF_QUERIES:
            raise ConfigError(
                f"option {_OF_QUERIES[name]} is of a streaming query, which takes it from "
                "writeStream: it has no meaning here"
            )
        nearest = (meant or {}).get(name) or next(
            (names[match] for match in difflib.get_close_matches(name, names, n=1)), None
        )
        hint = f"did you mean {nearest}?" if nearest else "Kafka's own settings start with kafka."
        raise ConfigError(f"unknown option {name!r}: {hint}")


def kafka_config(values: Mapping[str, str], refused: Mapping[str, str]) -> dict[str, str]:
    """The settings of the client; ``refused`` are those that Spark decides, each with a reason."""
    config = {
        name[len(KAFKA_PREFIX) :]: value
        for name, value in values.items()
        if name.startswith(KAFKA_PREFIX)
    }
    for name in config:
        # By the row, so that another client's name for it is refused as well.
        if reason := refused.get(name) or refused.get(row_of(name)):
            raise ConfigError(f"option kafka.{name} is not supported: {reason}")
    if not config.get("bootstrap.servers", "").strip():
        raise ConfigError(f"option {BOOTSTRAP} must be set, for example to host1:9092,host2:9092")
    _check_config(config)
    return config


def row_of(name: str) -> str:
    """The key that a setting of the client sets, whichever client's name it is."""
    from ottla._core import config_row_of

    return config_row_of(name) or name


def _check_config(config: Mapping[str, str]) -> None:
    import ottla
    from ottla._core import config_rows

    def check(part: Mapping[str, str], place: str) -> None:
        # Making a client starts nothing.
        try:
            ottla.AsyncClient(config=part)
        except ConfigError as error:
            raise ConfigError(f"option {place}: {error}") from None

    known = {name for name, *_ in config_rows()}
    for name in sorted(config.keys() - known):
        # The client knows more: what has no effect, and other names.
        check({"bootstrap.servers": "localhost:9092", name: config[name]}, KAFKA_PREFIX + name)
    # Not yet what reads files or imports a module: that is for the client which connects.
    later = ("security.protocol", "sasl.oauthbearer.token.provider")
    check({name: value for name, value in config.items() if name not in later}, f"{KAFKA_PREFIX}…")
    protocol = config.get("security.protocol", "PLAINTEXT")
    if protocol.strip().upper() not in _PROTOCOLS:
        check({"security.protocol": protocol}, f"{KAFKA_PREFIX}security.protocol")


def flag(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    """An option that is true or false."""
    text = values.get(name.lower())
    if text is None:
        return default
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise wrong(name, text, "true or false")


def number(
    values: Mapping[str, str], name: str, *, minimum: int = 1, maximum: int = INT64_MAX
) -> int | None:
    """An option that is a whole number, None if it is not given."""
    text = values.get(name.lower())
    if text is None:
        return None
    value = int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,19}\s*", text) else minimum - 1
    if not minimum <= value <= maximum:
        raise wrong(name, text, f"a whole number from {minimum} to {maximum}")
    return value


def text_of(values: Mapping[str, str], option: str) -> str | None:
    """An option that is a text, None if it is not given."""
    text = values.get(option.lower())
    if text is None:
        return None
    if not (stripped := text.strip()):
        raise ConfigError(f"option {option} is empty")
    return stripped


def seconds(values: Mapping[str, str], name: str, *, default: float) -> float:
    """An option in milliseconds, as seconds."""
    milliseconds = number(values, name, minimum=0, maximum=INT32_MAX)
    return default if milliseconds is None else milliseconds / 1000


def duration(values: Mapping[str, str], name: str, *, default: float) -> float:
    """An option such as ``15m``, in Spark's units, or in milliseconds without one; as seconds."""
    text = values.get(name.lower())
    if text is None:
        return default
    match = re.fullmatch(r"([0-9]{1,19})([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise wrong(name, text, "a time such as 90s, 15m or 2h")
    return int(match[1]) * _UNITS[match[2]]


def wrong(name: str, text: str, expected: str) -> ConfigError:
    """The error of an option whose value is not ``expected``."""
    return ConfigError(f"option {name} must be {expected}, got {text[:100]!r}")
