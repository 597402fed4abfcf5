"""Schemas as arguments, as text and as plain values."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypedDict

from ottla._internal.arguments import is_version
from ottla._internal.text import clean, reason
from ottla.errors import ConfigError
from ottla.schema import Registry, Schema, SchemaReference

LATEST = "latest"
_TYPES: dict[str, Literal["AVRO", "PROTOBUF", "JSON"]] = {
    "avro": "AVRO",
    "protobuf": "PROTOBUF",
    "json": "JSON",
}
_SUFFIXES = {".avsc": "avro", ".proto": "protobuf", ".json": "json"}


class SchemaReferenceDocument(TypedDict):
    """A schema that another one refers to.

    Attributes:
        name: the name in the text of the other schema.
        subject: its subject.
        version: its version in the subject.
    """

    name: str
    subject: str
    version: int


class SchemaDocument(TypedDict):
    """A registered schema.

    Attributes:
        subject: the subject in which it was found; null if it was found by its id.
        version: its version in the subject; null likewise.
        id: its id; null if the registry did not return it.
        guid: its GUID; null if the registry has none.
        type: ``AVRO``, ``PROTOBUF`` or ``JSON``.
        references: the schemas that it refers to.
        schema: its text.
        schema_metadata: the metadata of its data contract; null if none.
        rule_set: the rules of its data contract; null if none.
    """

    subject: str | None
    version: int | None
    id: int | None
    guid: str | None
    type: str
    references: list[SchemaReferenceDocument]
    schema: str
    schema_metadata: dict[str, Any] | None
    rule_set: dict[str, Any] | None


def add_file(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a schema in a file, for ``schema_of``."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a file with a schema")
    parser.add_argument(
        "--type",
        choices=sorted(_TYPES),
        help="the type of the schema (by the name of the file: .avsc, .proto, .json)",
    )
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=SUBJECT:VERSION",
        help="a schema that the file refers to by this name; may be repeated",
    )


def schema_of(arguments: argparse.Namespace) -> Schema:
    """Return the schema in a file.

    Raises:
        ConfigError: the file cannot be read, its type is unknown, or a reference is malformed.
    """
    path: Path = arguments.file
    kind = arguments.type or _SUFFIXES.get(path.suffix)
    if kind is None:
        raise ConfigError(f"{path}: give --type, as its name ends with none of .avsc .proto .json")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {reason(error)}") from None
    return Schema(text, _TYPES[kind], references=_references(arguments))


def _references(arguments: argparse.Namespace) -> list[SchemaReference]:
    return [reference_of("--reference", each) for each in arguments.reference]


def reference_of(option: str, text: str) -> SchemaReference:
    """Parse a reference, ``NAME=SUBJECT:VERSION``, as the value of an option."""
    name, _, rest = text.partition("=")
    subject, _, version = rest.rpartition(":")
    if not name or not subject or not is_version(version):
        raise ConfigError(f"{option} {text!r}: expected NAME=SUBJECT:VERSION")
    return SchemaReference(name, subject, int(version))


def version_argument(text: str) -> int | None:
    """Parse a version; ``latest`` is None."""
    if text == LATEST:
        return None
    return _number(text, "expected a version, 1 or more, or latest")


def number_argument(text: str) -> int:
    """Parse the number of a version."""
    return _number(text, "expected a version, 1 or more")


def _number(text: str, expected: str) -> int:
    if not is_version(text):
        raise argparse.ArgumentTypeError(f"{expected}, got {text!r}")
    return int(text)


def find(client: Registry, subject: str, version: int | None) -> Schema:
    """Return a version of a subject, or the latest one."""
    if version is None:
        return client.latest(subject)
    return client.schema_by_version(subject, version)


def pretty(schema: Schema) -> list[str]:
    """Return the lines of a schema; Avro and JSON are indented."""
    text = schema.text
    if schema.type != "PROTOBUF":
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text.splitlines()


def plain_schema(schema: Schema) -> SchemaDocument:
    """Return a schema in JSON's types."""
    return {
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "guid": schema.guid,
        "type": schema.type,
        "references": [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in schema.references
        ],
        "schema": schema.text,
        "schema_metadata": schema.metadata,
        "rule_set": schema.rule_set,
    }


def name_of(schema: Schema) -> str:
    """Return a schema as ``orders-value version 3, id 7``, of what is known."""
    parts = [
        f"{schema.subject} version {schema.version}" if schema.subject and schema.version else "",
        f"id {schema.id}" if schema.id is not None else "",
        schema.type,
    ]
    return ", ".join(filter(None, parts))


def contract_lines(schema: Schema) -> list[str]:
    """Return the lines of the metadata and the rules of a schema."""
    lines = []
    for key, values in (schema.metadata or {}).items():
        if values:
            lines.append(clean(f"metadata, {key}: {json.dumps(values, ensure_ascii=False)}"))
    for kind, rules in (schema.rule_set or {}).items():
        # Other members, such as the phase from which rules apply, are in the JSON.
        listed = rules if isinstance(rules, list) else []
        lines.extend(clean(f"{kind}: {_rule_text(rule)}") for rule in listed)
    return lines


def _rule_text(rule: Any) -> str:
    if not isinstance(rule, dict):
        return str(rule)
    shown = [str(rule[name]) for name in ("kind", "type", "mode") if rule.get(name)]
    if tags := rule.get("tags"):
        listed = tags if isinstance(tags, list) else [tags]
        shown.append(f"tags {', '.join(map(str, listed))}")
    if rule.get("disabled"):
        shown.append("disabled")
    return f"{rule.get('name')} ({', '.join(shown)})"


def references_text(references: Iterable[SchemaReference]) -> str:
    """Return the references of a schema as the text of a cell."""
    return ", ".join(f"{each.name}={each.subject}:{each.version}" for each in references)
