"""The options of ``ottla consume`` and ``ottla produce`` for keys and values with a schema.

``formats_of`` creates the formats that read or write records. Invariant: an option that would have
no effect is an error, and no message contains a credential.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ottla._internal.text import reason
from ottla.cli.options import registry_configuration, settings_of
from ottla.cli.registry.schemas import reference_of
from ottla.cli.registry_keys import REGISTRY_URL, registry_key, without_limits
from ottla.errors import ConfigError
from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry, Schema

PARTS = ("key", "value")
"""The parts of a record that may have a schema."""
_FORMATS = ("avro", "protobuf", "json")
_WIRE_FORMATS = ("confluent", "apicurio", "glue", "none")
_STRATEGIES = ("topic", "record", "topic_record")
_OPTIONS = (
    "schema",
    "reference",
    "register",
    "subject",
    "subject_strategy",
    "message",
    "wire_format",
    "schema_id_serializer",
)
_SCHEMA_ID_SERIALIZERS = ("prefix", "header")
_LATEST = "latest"
_WRITTEN = "written"
_TYPES: dict[str, Literal["AVRO", "PROTOBUF", "JSON"]] = {
    "avro": "AVRO",
    "protobuf": "PROTOBUF",
    "json": "JSON",
}


def add_schemas(parser: argparse.ArgumentParser, *, writes: bool = False) -> None:
    """Add the arguments.

    Args:
        parser: the command's parser.
        writes: whether the command writes records, rather than reads them.
    """
    purpose = "write with" if writes else "read with"
    group = parser.add_argument_group("keys and values with a schema")
    for part in PARTS:
        group.add_argument(f"--{part}-format", choices=_FORMATS, help=f"the format of the {part}")
    group.add_argument(
        "--schema-registry",
        metavar="URL",
        help="the schema registry; its other settings are configuration keys schema.registry.*",
    )
    for part in PARTS:
        group.add_argument(
            f"--{part}-schema",
            metavar="latest|ID|@FILE" if writes else "latest|ID|@FILE|written",
            help=f"the schema to {purpose}: the latest of the subject (the default), or another"
            + ("" if writes else "; written: each with its own, and the name of its type"),
        )
        group.add_argument(
            f"--{part}-reference",
            action="append",
            default=[],
            metavar="NAME=SUBJECT:VERSION",
            help="a schema that @FILE refers to by this name; may be repeated",
        )
        if writes:
            group.add_argument(
                f"--{part}-register",
                action="store_true",
                help="register the schema in @FILE if the subject does not have it yet",
            )
        group.add_argument(
            f"--{part}-subject", metavar="NAME", help=f"the subject (the topic's name and -{part})"
        )
        if writes:
            group.add_argument(
                f"--{part}-subject-strategy",
                choices=_STRATEGIES,
                help="what names the subject of @FILE: the topic (the default), the record's "
                "name, or both",
            )
        group.add_argument(
            f"--{part}-message", metavar="NAME", help="the full name of the Protobuf message"
        )
        group.add_argument(
            f"--{part}-wire-format",
            # The ids of AWS Glue are not looked up.
            choices=[name for name in _WIRE_FORMATS if not (writes and name == "glue")],
            help=f"how the {part} carries its schema id (confluent)",
        )
        if writes:
            group.add_argument(
                f"--{part}-schema-id-serializer",
                choices=_SCHEMA_ID_SERIALIZERS,
                help=f"whether the id is before the {part}, or the GUID in a header (prefix)",
            )
    parser.set_defaults(writes_schemas=writes)


def is_written(arguments: argparse.Namespace, part: str) -> bool:
    """Whether keys or values are read with the schemas that they were written with."""
    return bool(getattr(arguments, f"{part}_schema") == _WRITTEN and not arguments.writes_schemas)


def formats_of(arguments: argparse.Namespace, mode: str = "failfast") -> dict[str, ColumnFormat]:
    """Return the formats of keys and values, by ``key`` and ``value``.

    Args:
        arguments: the command's arguments.
        mode: the treatment of keys and values that cannot be decoded.

    Raises:
        ConfigError: an argument is wrong, has no effect, or a registry is missing.
    """
    wanted = [part for part in PARTS if getattr(arguments, f"{part}_format") is not None]
    _check(arguments, wanted)
    if not wanted:
        return {}
    config, limits = without_limits(registry_configuration(arguments))
    registry = Registry(config) if REGISTRY_URL in config else None
    return {part: _format(arguments, part, registry, mode, limits) for part in wanted}


def _check(arguments: argparse.Namespace, wanted: list[str]) -> None:
    for part in PARTS:
        if part in wanted:
            _check_options(arguments, part)
        else:
            _check_unused(arguments, part)
    settings = [key for key, _ in settings_of(arguments) if registry_key(key) is not None]
    if not wanted and (settings or arguments.schema_registry is not None):
        name = f"-X {settings[0]}" if settings else "--schema-registry"
        raise ConfigError(f"{name} has no effect without --key-format or --value-format")


def _check_unused(arguments: argparse.Namespace, part: str) -> None:
    for option in _OPTIONS:
        if getattr(arguments, f"{part}_{option}", None) not in (None, False, []):
            name = f"--{part}-{option.replace('_', '-')}"
            raise ConfigError(f"{name} has no effect without --{part}-format")


def _check_options(arguments: argparse.Namespace, part: str) -> None:
    given = {name: getattr(arguments, f"{part}_{name}", None) for name in ("format", *_OPTIONS)}
    if given["message"] is not None and given["format"] != "protobuf":
        raise ConfigError(f"--{part}-message has no effect without --{part}-format protobuf")
    if given["message"] is not None and is_written(arguments, part):
        raise ConfigError(
            f"--{part}-message has no effect with --{part}-schema written: each record has its own"
        )
    if given["subject"] is not None and not _uses_subject(arguments, part):
        raise ConfigError(f"--{part}-subject has no effect with this --{part}-schema")
    if given["subject"] is not None and given["subject_strategy"] is not None:
        raise ConfigError(f"--{part}-subject and --{part}-subject-strategy exclude each other")
    is_file = (given["schema"] or "").startswith("@")
    if given["reference"] and not is_file:
        raise ConfigError(f"--{part}-reference has no effect without --{part}-schema @FILE")
    if given["subject_strategy"] not in (None, "topic") and not is_file:
        raise ConfigError(
            f"--{part}-subject-strategy {given['subject_strategy']} needs the name of a record: "
            f"give --{part}-schema @FILE"
        )
    if is_written(arguments, part) and given["wire_format"] in ("glue", "none"):
        raise ConfigError(
            f"--{part}-schema written needs the id of each record's schema, which "
            f"--{part}-wire-format {given['wire_format']} has not"
        )
    if given["register"] and not is_file:
        raise ConfigError(f"--{part}-register needs the schema: give --{part}-schema @FILE")
    # Other wire formats have a place of their own for the id, or none.
    serializer = given.get("schema_id_serializer")
    if serializer is not None and given["wire_format"] not in (None, "confluent"):
        raise ConfigError(
            f"--{part}-schema-id-serializer {serializer} has no effect with "
            f"--{part}-wire-format {given['wire_format']}"
        )
    if given["subject_strategy"] is not None and given["wire_format"] == "none":
        raise ConfigError(f"--{part}-subject-strategy has no effect with --{part}-wire-format none")
    if given["register"] and given["wire_format"] == "none":
        raise ConfigError(f"--{part}-register has no effect with --{part}-wire-format none")


def _uses_subject(arguments: argparse.Namespace, part: str) -> bool:
    schema = getattr(arguments, f"{part}_schema")
    if schema is None or schema == _LATEST:
        return True
    # A given schema is written with the id that it has in the subject.
    has_ids = getattr(arguments, f"{part}_wire_format") != "none"
    return bool(arguments.writes_schemas and schema.startswith("@") and has_ids)


def _format(
    arguments: argparse.Namespace,
    part: str,
    registry: Registry | None,
    mode: str,
    limits: dict[str, Any],
) -> ColumnFormat:
    kind, message, subject, wire_format = (
        getattr(arguments, f"{part}_{name}")
        for name in ("format", "message", "subject", "wire_format")
    )
    written = is_written(arguments, part)
    text = None if written else getattr(arguments, f"{part}_schema")
    schema = _schema(f"--{part}-schema", text, kind, writes=arguments.writes_schemas)
    wire_format = wire_format or "confluent"
    # ottla does not call AWS Glue's registry, and other registries do not have its ids.
    used = registry if wire_format != "glue" else None
    is_given = isinstance(schema, str | bytes)
    strategy = getattr(arguments, f"{part}_subject_strategy", None)
    if used is None and not (is_given and wire_format in ("none", "glue")):
        raise ConfigError(_missing(part, wire_format))
    if written:
        return _format_class(kind)(used, convert=False, wire_format=wire_format, limits=limits)
    if strategy is None and _uses_subject(arguments, part):
        subject = subject or f"{_topic_of(arguments, part)}-{part}"
    options: dict[str, Any] = {
        "schema": _with_references(arguments, part, schema),
        "subject": subject,
        "wire_format": wire_format,
    }
    if strategy is not None:
        options["subject_strategy"] = strategy
    if arguments.writes_schemas:
        options["register"] = getattr(arguments, f"{part}_register")
        options["schema_id_serializer"] = (
            getattr(arguments, f"{part}_schema_id_serializer") or _SCHEMA_ID_SERIALIZERS[0]
        )
    options |= {"mode": mode, "limits": limits}
    if kind == "protobuf":
        options["message"] = message
    return _format_class(kind)(used, **options)


def _format_class(kind: str) -> Callable[..., ColumnFormat]:
    return Avro if kind == "avro" else Protobuf if kind == "protobuf" else Json


def _with_references(
    arguments: argparse.Namespace, part: str, schema: str | bytes | int | None
) -> str | bytes | int | Schema | None:
    option, texts = f"--{part}-reference", getattr(arguments, f"{part}_reference")
    references = [reference_of(option, text) for text in texts]
    if not references:
        return schema
    if not isinstance(schema, str):
        raise ConfigError(f"{option}: descriptors refer to no schema of a registry")
    return Schema(schema, _TYPES[getattr(arguments, f"{part}_format")], references=references)


def _topic_of(arguments: argparse.Namespace, part: str) -> str:
    """Return the topic whose schemas are used: ``produce`` has one, ``consume`` several."""
    if hasattr(arguments, "topic"):
        return str(arguments.topic)
    topics: dict[str, None] = dict.fromkeys(arguments.topics or [])
    if len(topics) != 1:
        raise ConfigError(
            f"--{part}-format: several topics have no common subject: give --{part}-subject"
        )
    return next(iter(topics))


def _missing(part: str, wire_format: str) -> str:
    if wire_format == "glue":
        return f"--{part}-wire-format glue needs the schema: give --{part}-schema @FILE"
    return (
        f"--{part}-format: no schema registry is configured: give --schema-registry URL, or "
        f"{REGISTRY_URL} in --config or --profile; for data without ids of schemas, give "
        f"--{part}-schema @FILE and --{part}-wire-format none"
    )


def _schema(option: str, text: str | None, kind: str, *, writes: bool) -> str | bytes | int | None:
    if text is None or text == _LATEST:
        return None
    if text.isdecimal():
        return int(text)
    if not text.startswith("@"):
        expected = "latest, an id, or @FILE" if writes else "latest, an id, @FILE, or written"
        raise ConfigError(f"{option} {text!r}: expected {expected}")
    path = Path(text[1:])
    try:
        # Files with other names may be descriptors that protoc wrote.
        if kind == "protobuf" and path.suffix != ".proto":
            return path.read_bytes()
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{option} {text}: {reason(error)}") from None
