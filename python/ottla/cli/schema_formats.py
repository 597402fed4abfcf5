"""The formats of keys and values that ``ottla consume`` and ``ottla produce`` read or write.

Made of the options in ``schema_options``. Invariant: no message contains a credential.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ottla._internal.text import reason
from ottla.cli.options import registry_configuration
from ottla.cli.packages import require
from ottla.cli.registry.schemas import reference_of
from ottla.cli.registry_keys import REGISTRY_URL, without_limits
from ottla.cli.schema_options import (
    LATEST,
    PARTS,
    SCHEMA_ID_SERIALIZERS,
    check_schemas,
    is_written,
    uses_subject,
)
from ottla.errors import ConfigError
from ottla.schema import Avro, ColumnFormat, Json, Protobuf, Registry, Schema

_TYPES: dict[str, Literal["AVRO", "PROTOBUF", "JSON"]] = {
    "avro": "AVRO",
    "protobuf": "PROTOBUF",
    "json": "JSON",
}


def formats_of(arguments: argparse.Namespace, mode: str = "failfast") -> dict[str, ColumnFormat]:
    """Return the formats of keys and values, by ``key`` and ``value``.

    Args:
        arguments: the command's arguments.
        mode: the treatment of keys and values that cannot be decoded.

    Raises:
        ConfigError: an argument is wrong, has no effect, or a registry is missing.
    """
    wanted = [part for part in PARTS if getattr(arguments, f"{part}_format") is not None]
    check_schemas(arguments, wanted)
    if not wanted:
        return {}
    config, limits = without_limits(registry_configuration(arguments))
    registry = Registry(config) if REGISTRY_URL in config else None
    return {part: _format(arguments, part, registry, mode, limits) for part in wanted}


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
    validates: dict[str, bool] = {}
    if getattr(arguments, f"{part}_validate"):
        require(f"--{part}-validate", "jsonschema_rs", extra="json-validation")
        validates["validate"] = True
    if written:
        return _format_class(kind)(
            used, convert=False, wire_format=wire_format, limits=limits, **validates
        )
    if strategy is None and uses_subject(arguments, part):
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
            getattr(arguments, f"{part}_schema_id_serializer") or SCHEMA_ID_SERIALIZERS[0]
        )
    options |= {"mode": mode, "limits": limits, **validates}
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
    if text is None or text == LATEST:
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
