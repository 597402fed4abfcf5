"""``ottla registry show``: a schema, by its subject and version or by its id."""

from __future__ import annotations

import argparse
import sys

from ottla.cli.registry.connection import add_registry, registry
from ottla.cli.registry.schemas import (
    contract_lines,
    find,
    name_of,
    plain_schema,
    pretty,
    references_text,
    version_argument,
)
from ottla.cli.resources import Subcommands, add_subcommand
from ottla.cli.resources import show as show_result
from ottla.cli.tables import Table
from ottla.errors import ConfigError


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(subcommands, "show", run, "show a schema", has_json=True)
    parser.add_argument("subject", nargs="?", metavar="SUBJECT", help="the subject")
    parser.add_argument(
        "version",
        nargs="?",
        type=version_argument,
        metavar="VERSION",
        help="the version (latest)",
    )
    parser.add_argument("--id", metavar="ID", help="the id, or a GUID, in place of a subject")
    parser.add_argument(
        "--raw", action="store_true", help="print only the text, exactly as it is registered"
    )
    add_registry(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show a schema; return the exit code."""
    if (arguments.id is None) == (arguments.subject is None):
        raise ConfigError("name a subject, or give --id")
    if arguments.raw and arguments.json:
        raise ConfigError("--raw and --json exclude each other")
    with registry(arguments) as client:
        if arguments.id is None:
            schema = find(client, arguments.subject, arguments.version)
        else:
            given = arguments.id
            schema = client.schema(int(given) if given.isdecimal() else given)
    value = plain_schema(schema)
    title = name_of(schema)
    if arguments.id is not None and schema.id is None:
        # Registries return a schema by its id without the id.
        key = "id" if arguments.id.isdecimal() else "guid"
        if key == "id":
            value["id"] = int(arguments.id)
        else:
            value["guid"] = arguments.id
        title = f"{key} {arguments.id}, {title}"
    if arguments.raw:
        sys.stdout.write(schema.text)
        return 0
    lines = [*contract_lines(schema), *pretty(schema)]
    if schema.references:
        lines = [f"references: {references_text(schema.references)}", *lines]
    show_result(arguments, value, [Table(title, [], [], lines)])
    return 0
