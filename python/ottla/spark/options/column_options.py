"""The options of a typed column that reads and writes share.

Called by ``typed_columns`` and ``typed_writes``, whose option names have lower case in ``values``.
Invariant: an option without effect is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.errors import ConfigError
from ottla.spark.options.option_values import invalid_value, parse_bool, parse_text

FORMATS = ("avro", "protobuf", "json")
WRITTEN = "written"
"""In place of a schema: the one that each record was written with, which Spark cannot have."""
_LATEST = "latest"


def parse_format(values: Mapping[str, str], column: str, suffixes: tuple[str, ...]) -> str | None:
    """Parse the format of a column; without one, its other options are errors."""
    if parse_text(values, f"{column}.format") is not None:
        return parse_choice(values, f"{column}.format", FORMATS)
    for suffix in suffixes:
        if f"{column}.{suffix}".lower() in values:
            raise ConfigError(f"option {column}.{suffix} needs {column}.format")
    return None


def parse_message(values: Mapping[str, str], column: str, format_name: str) -> str | None:
    """Parse the full name of a message, which only Protobuf has."""
    message = parse_text(values, f"{column}.message")
    if message is not None and format_name != "protobuf":
        raise ConfigError(f"option {column}.message is for {column}.format=protobuf only")
    return message


def parse_choice(
    values: Mapping[str, str], name: str, choices: tuple[str, ...], default: str = ""
) -> str:
    """Parse one of some values, in any case."""
    text = values.get(name.lower(), default)
    value = text.strip().lower()
    if value not in choices:
        raise invalid_value(name, text, f"one of {', '.join(choices)}")
    return value


def parse_schema(values: Mapping[str, str], name: str) -> str | int | None:
    """Parse a schema: its text or its id, or None for the latest."""
    text = parse_text(values, name)
    if text is None or text.lower() == _LATEST:
        return None
    if text.isdecimal():
        return int(text)
    # Each schema has one of these, and the name of a file has none.
    is_word = text.lower() in ("true", "false", WRITTEN)
    if not is_word and not any(mark in text for mark in '{["='):
        raise ConfigError(
            f"option {name}={text[:80]!r}: expected latest, an id, or the text of a schema; read a "
            "file with open(path).read()"
        )
    return text


def parse_validate(values: Mapping[str, str], column: str, format_name: str) -> bool:
    """Parse whether values are validated against their JSON Schema, which only JSON has."""
    validates = parse_bool(values, f"{column}.validate", default=False)
    if validates and format_name != "json":
        raise ConfigError(f"option {column}.validate=true is for {column}.format=json only")
    return validates
