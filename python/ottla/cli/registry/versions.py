"""``ottla registry versions``: the versions of a subject, the newest first.

Invariant: without ``--deleted``, a version that was deleted is not shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ottla._internal.text import counted
from ottla.cli.options import record_count
from ottla.cli.registry.connection import add_registry, is_missing_version, registry
from ottla.cli.registry.schemas import plain_schema, references_text
from ottla.cli.resources import Subcommands, add_subcommand, show, text
from ottla.cli.tables import Table
from ottla.errors import SchemaError
from ottla.schema import Registry, Schema

_LIMIT = 50


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands, "versions", run, "list the versions of a subject", has_json=True
    )
    parser.add_argument("subject", metavar="SUBJECT", help="the subject")
    parser.add_argument(
        "--limit",
        type=record_count,
        default=_LIMIT,
        metavar="N",
        help=f"look at the newest N versions only ({_LIMIT}); each is a request",
    )
    parser.add_argument(
        "--deleted", action="store_true", help="also those that were deleted softly"
    )
    add_registry(parser)


def run(arguments: argparse.Namespace) -> int:
    """List the versions; return the exit code."""
    with registry(arguments) as client:
        numbers = client.versions(arguments.subject, deleted=arguments.deleted)
        newest = list(reversed(numbers))[: arguments.limit]
        found = [
            client.schema_by_version(arguments.subject, each, deleted=arguments.deleted)
            for each in newest
        ]
    rows = [
        [text(each.version), text(each.id), each.type, references_text(each.references)]
        for each in found
    ]
    lines = [counted(len(found), "version")]
    if len(numbers) > arguments.limit:
        lines.append(f"older ones than the newest {arguments.limit} are left out: --limit")
    table = Table(arguments.subject, ["version", "id", "type", "references"], rows, lines)
    show(arguments, [plain_schema(each) for each in found], [table])
    return 0


def previous(client: Registry, schema: Schema) -> Schema:
    """Return the version before one, of those that were not deleted.

    Raises:
        SchemaError: it is the first one.
    """
    for found in older(client, schema, schema.version or 1):
        return found
    raise SchemaError(f"subject {schema.subject} has no version before {schema.version}")


def older(client: Registry, latest: Schema, limit: int) -> Iterator[Schema]:
    """Yield the newest versions before one, of at most ``limit`` numbers."""
    newest = latest.version or 1
    for version in range(newest - 1, max(0, newest - 1 - limit), -1):
        try:
            yield client.schema_by_version(latest.subject or "", version)
        except SchemaError as error:
            if not is_missing_version(error):
                raise
