"""The options of ``ottla consume`` and ``ottla produce`` for keys and values with a schema.

``schema_formats`` makes formats of them. Invariant: an option without effect is an error.
"""

from __future__ import annotations

import argparse

from ottla.cli.options import settings_of
from ottla.cli.registry_keys import registry_key
from ottla.errors import ConfigError

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
    "validate",
)
SCHEMA_ID_SERIALIZERS = ("prefix", "header")
"""Where the id of the schema of a written record is; the first is the default."""
LATEST = "latest"
"""The text for the latest schema of the subject."""
_WRITTEN = "written"


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
                choices=SCHEMA_ID_SERIALIZERS,
                help=f"whether the id is before the {part}, or the GUID in a header (prefix)",
            )
        group.add_argument(
            f"--{part}-validate",
            action="store_true",
            help=f"validate each {part} in JSON against its JSON Schema (ottla[json-validation])",
        )
    parser.set_defaults(writes_schemas=writes)


def is_written(arguments: argparse.Namespace, part: str) -> bool:
    """Whether keys or values are read with the schemas that they were written with."""
    return bool(getattr(arguments, f"{part}_schema") == _WRITTEN and not arguments.writes_schemas)


def check_schemas(arguments: argparse.Namespace, wanted: list[str]) -> None:
    """Check the options together.

    Args:
        arguments: the command's arguments.
        wanted: the parts of a record that have a format.

    Raises:
        ConfigError: an option has no effect, or excludes another one.
    """
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
    if given["validate"] and given["format"] != "json":
        raise ConfigError(f"--{part}-validate has no effect without --{part}-format json")
    if given["message"] is not None and is_written(arguments, part):
        raise ConfigError(
            f"--{part}-message has no effect with --{part}-schema written: each record has its own"
        )
    if given["subject"] is not None and not uses_subject(arguments, part):
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


def uses_subject(arguments: argparse.Namespace, part: str) -> bool:
    """Whether the subject decides which schema is used, or which id it has."""
    schema = getattr(arguments, f"{part}_schema")
    if schema is None or schema == LATEST:
        return True
    # A given schema is written with the id that it has in the subject.
    has_ids = getattr(arguments, f"{part}_wire_format") != "none"
    return bool(arguments.writes_schemas and schema.startswith("@") and has_ids)
