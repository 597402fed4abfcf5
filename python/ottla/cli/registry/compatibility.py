"""``ottla registry compatibility``: whether a subject would accept the schema in a file.

Invariant: nothing is registered.
"""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla.cli.registry.connection import add_registry, is_missing_subject, registry
from ottla.cli.registry.schemas import add_file, schema_of, version_argument
from ottla.cli.resources import Subcommands, add_subcommand, show
from ottla.cli.tables import Table
from ottla.errors import SchemaError
from ottla.schema import Registry, Schema


class Compatibility(TypedDict):
    """Whether a subject would accept a schema.

    Attributes:
        subject: the subject.
        is_compatible: whether it would accept the schema.
        messages: the reasons, as the registry states them.
    """

    subject: str
    is_compatible: bool
    messages: list[str]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "compatibility",
        run,
        "check whether a subject would accept a schema",
        details="The level of the subject decides. Exit code 1 if the schema is incompatible, 2 "
        "after an error.",
        has_json=True,
    )
    parser.add_argument("subject", metavar="SUBJECT", help="the subject")
    add_file(parser)
    parser.add_argument(
        "--version", type=version_argument, metavar="N", help="compare with this version (latest)"
    )
    add_registry(parser)
    parser.set_defaults(exit_code_of_errors=2)


def run(arguments: argparse.Namespace) -> int:
    """Check a schema; return the exit code."""
    schema = schema_of(arguments)
    with registry(arguments) as client:
        is_compatible, messages = check(client, arguments.subject, schema, arguments.version)
    value = Compatibility(subject=arguments.subject, is_compatible=is_compatible, messages=messages)
    verdict = "compatible" if is_compatible else "incompatible"
    title = f"{arguments.subject}: {verdict}"
    show(arguments, value, [Table(title, [], [], messages, bad=not is_compatible)])
    return 0 if is_compatible else 1


def check(
    client: Registry, subject: str, schema: Schema, version: int | None = None
) -> tuple[bool, list[str]]:
    """Return whether a subject would accept a schema, and the reasons.

    A subject that does not exist accepts all, unless a version of it was asked for.
    """
    try:
        found = client.check_compatibility(subject, schema, version)
    except SchemaError as error:
        if version is not None or not is_missing_subject(error):
            raise
        return True, ["the subject does not exist yet: the schema would be its first version"]
    return found.is_compatible, list(found.messages)
