"""Keys and values with a schema, for ``--key-format`` and ``--value-format``.

``formats_of`` makes the formats with which records are read, and ``record_of`` the text that is
filtered and printed. Invariant: a record that cannot be decoded is kept, with the reason; what the
registry does not answer ends the command. No message has a credential.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ottla.cli.consume.decoding import as_text
from ottla.cli.consume.json_values import as_json_value
from ottla.cli.formats import Record
from ottla.cli.options import registry_configuration, settings_of
from ottla.cli.registry_keys import REGISTRY_URL, registry_key
from ottla.errors import ConfigError
from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry

_PARTS = ("key", "value")
_FORMATS = ("avro", "protobuf", "json")
_WIRE_FORMATS = ("confluent", "apicurio", "glue", "none")
_OPTIONS = ("schema", "subject", "message", "wire_format")
_LATEST = "latest"


def add_schemas(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    group = parser.add_argument_group("keys and values with a schema")
    for part in _PARTS:
        group.add_argument(f"--{part}-format", choices=_FORMATS, help=f"the format of the {part}")
    group.add_argument(
        "--schema-registry",
        metavar="URL",
        help="the schema registry; its other settings are configuration keys schema.registry.*",
    )
    for part in _PARTS:
        group.add_argument(
            f"--{part}-schema",
            metavar="latest|ID|@FILE",
            help="the schema to read with: the latest of the subject (the default), or another",
        )
        group.add_argument(
            f"--{part}-subject", metavar="NAME", help=f"the subject (the topic's name and -{part})"
        )
        group.add_argument(
            f"--{part}-message", metavar="NAME", help="the full name of the Protobuf message"
        )
        group.add_argument(
            f"--{part}-wire-format",
            choices=_WIRE_FORMATS,
            help=f"where the {part} has the id of its schema (confluent)",
        )


def formats_of(arguments: argparse.Namespace) -> dict[str, ColumnFormat]:
    """Return the formats of keys and values, by ``key`` and ``value``.

    Raises:
        ConfigError: an argument is wrong, has no effect, or a registry is missing.
    """
    wanted = [part for part in _PARTS if getattr(arguments, f"{part}_format") is not None]
    _check(arguments, wanted)
    if not wanted:
        return {}
    config = registry_configuration(arguments)
    registry = Registry(config) if REGISTRY_URL in config else None
    return {part: _format(arguments, part, registry) for part in wanted}


def record_of(row: Sequence[Any], formats: Collection[str]) -> Record:
    """Return the record of a row: the columns of a ``Record``, and with formats the error.

    Args:
        row: the row.
        formats: which of key and value were decoded.
    """
    if not formats:
        return Record(*row)
    *columns, error = row
    record = Record(*columns)
    objects = {part: as_json_value(getattr(record, part)) for part in formats}
    key, value = (
        as_text(objects[part]) if part in objects else getattr(record, part) for part in _PARTS
    )
    return record._replace(key=key, value=value, objects=objects, error=error)


def _check(arguments: argparse.Namespace, wanted: list[str]) -> None:
    given = vars(arguments)
    for part in _PARTS:
        if part not in wanted:
            for option in _OPTIONS:
                if given[f"{part}_{option}"] is not None:
                    name = f"--{part}-{option.replace('_', '-')}"
                    raise ConfigError(f"{name} has no effect without --{part}-format")
        elif given[f"{part}_as"] is not None:
            raise ConfigError(f"--{part}-format excludes --{part}-as")
        elif given[f"{part}_message"] is not None and given[f"{part}_format"] != "protobuf":
            raise ConfigError(f"--{part}-message has no effect without --{part}-format protobuf")
        elif given[f"{part}_subject"] is not None and given[f"{part}_schema"] not in (
            None,
            _LATEST,
        ):
            raise ConfigError(f"--{part}-subject has no effect with this --{part}-schema")
    settings = [key for key, _ in settings_of(arguments) if registry_key(key) is not None]
    if not wanted and (settings or arguments.schema_registry is not None):
        name = f"-X {settings[0]}" if settings else "--schema-registry"
        raise ConfigError(f"{name} has no effect without --key-format or --value-format")


def _format(arguments: argparse.Namespace, part: str, registry: Registry | None) -> ColumnFormat:
    kind, message, subject, wire_format = (
        getattr(arguments, f"{part}_{name}")
        for name in ("format", "message", "subject", "wire_format")
    )
    schema = _schema(f"--{part}-schema", getattr(arguments, f"{part}_schema"), kind)
    wire_format = wire_format or "confluent"
    # AWS Glue's registry is not called, and another one does not have its ids.
    used = registry if wire_format != "glue" else None
    is_given = isinstance(schema, str | bytes)
    if used is None and not (is_given and wire_format in ("none", "glue")):
        raise ConfigError(_missing(part, wire_format))
    if schema is None:
        subject = subject or f"{arguments.topic}-{part}"
    options: dict[str, Any] = {"schema": schema, "subject": subject, "wire_format": wire_format}
    options["mode"] = "permissive"
    if kind == "protobuf":
        return Protobuf(used, message=message, **options)
    return (Avro if kind == "avro" else Json)(used, **options)


def _missing(part: str, wire_format: str) -> str:
    if wire_format == "glue":
        return f"--{part}-wire-format glue needs the schema: give --{part}-schema @FILE"
    return (
        f"--{part}-format: no schema registry is configured: give --schema-registry URL, or "
        f"{REGISTRY_URL} in --config or --profile; for data without ids of schemas, give "
        f"--{part}-schema @FILE and --{part}-wire-format none"
    )


def _schema(option: str, text: str | None, kind: str) -> str | bytes | int | None:
    if text is None or text == _LATEST:
        return None
    if text.isdecimal():
        return int(text)
    if not text.startswith("@"):
        raise ConfigError(f"{option} {text!r}: expected latest, an id, or @FILE")
    path = Path(text[1:])
    try:
        # protoc writes descriptors to files with other names.
        if kind == "protobuf" and path.suffix != ".proto":
            return path.read_bytes()
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{option} {text}: {error}") from None
