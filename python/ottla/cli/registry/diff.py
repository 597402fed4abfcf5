"""``ottla registry diff``: what differs between two versions of a subject.

Invariant: the exit codes are those of ``diff``: 0 if nothing differs, 1 if something does, and 2
after an error.
"""

from __future__ import annotations

import argparse
import difflib
from typing import TypedDict

from ottla.cli.registry.connection import add_registry, registry
from ottla.cli.registry.schemas import find, pretty, version_argument
from ottla.cli.registry.versions import previous
from ottla.cli.resources import Subcommands, add_subcommand, show
from ottla.cli.tables import Table
from ottla.schema import Schema


class SchemaDifference(TypedDict):
    """What differs between two versions of a subject.

    Attributes:
        subject: the subject.
        versions: the old and the new version; null if the registry did not return its number.
        is_equal: whether nothing differs.
        diff: the lines of a unified diff; empty if nothing differs.
    """

    subject: str
    versions: list[int | None]
    is_equal: bool
    diff: list[str]


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(
        subcommands,
        "diff",
        run,
        "show what differs between two versions of a subject",
        details="Schemas of Avro and JSON are indented first. Exit codes as of diff: 0 if nothing "
        "differs, 1 if something does, 2 after an error.",
        has_json=True,
    )
    parser.add_argument("subject", metavar="SUBJECT", help="the subject")
    parser.add_argument(
        "old",
        nargs="?",
        type=version_argument,
        metavar="OLD",
        help="a version (that before NEW)",
    )
    parser.add_argument(
        "new", nargs="?", type=version_argument, metavar="NEW", help="another version (latest)"
    )
    add_registry(parser)
    parser.set_defaults(exit_code_of_errors=2)


def run(arguments: argparse.Namespace) -> int:
    """Show the difference; return the exit code."""
    with registry(arguments) as client:
        new = find(client, arguments.subject, arguments.new)
        if arguments.old is None:
            old = previous(client, new)
        else:
            old = find(client, arguments.subject, arguments.old)
    lines = difference(old, new)
    value = SchemaDifference(
        subject=arguments.subject,
        versions=[old.version, new.version],
        is_equal=not lines,
        diff=lines,
    )
    nothing = f"versions {old.version} and {new.version} do not differ"
    show(arguments, value, [Table("", [], [], lines or [nothing])])
    return 1 if lines else 0


def difference(old: Schema, new: Schema) -> list[str]:
    """Return the lines of a unified diff of two versions; none if nothing differs."""
    return [
        line.rstrip("\n")
        for line in difflib.unified_diff(
            pretty(old),
            pretty(new),
            f"{old.subject} version {old.version}",
            f"{new.subject} version {new.version}",
            lineterm="",
        )
    ]
