"""``ottla registry subjects``: the subjects of a registry."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla._internal.text import counted
from ottla.cli.parsing import add_match, matching
from ottla.cli.registry.connection import add_registry, registry
from ottla.cli.resources import Subcommands, add_subcommand, show
from ottla.cli.tables import Table


class Subject(TypedDict):
    """A subject.

    Attributes:
        subject: its name.
    """

    subject: str


def add(subcommands: Subcommands) -> None:
    """Add the subcommand."""
    parser = add_subcommand(subcommands, "subjects", run, "list the subjects", has_json=True)
    parser.add_argument("--prefix", help="only those that begin so; :.CONTEXT: for a context")
    parser.add_argument(
        "--deleted", action="store_true", help="also those that were deleted softly"
    )
    add_registry(parser)
    add_match(parser, "subjects")


def run(arguments: argparse.Namespace) -> int:
    """List the subjects; return the exit code."""
    is_match = matching(arguments)
    with registry(arguments) as client:
        names = client.subjects(prefix=arguments.prefix, deleted=arguments.deleted)
        found = sorted(filter(is_match, names))
    rows = [[each] for each in found]
    table = Table("", ["subject"], rows, [counted(len(found), "subject")])
    show(arguments, [Subject(subject=each) for each in found], [table])
    return 0
