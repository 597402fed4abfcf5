"""``ottla schema``: the JSON Schema of what a command prints with ``--json``.

Invariant: what it prints stands alone, although the files share definitions.
"""

from __future__ import annotations

import argparse
import sys

from ottla.cli.messages import is_json
from ottla.cli.options import add_json
from ottla.cli.output import print_document
from ottla.cli.resources import Subcommands
from ottla.cli.schema_files import names, text_of
from ottla.errors import ConfigError


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of what a command prints with --json",
        description="Print the JSON Schema of what a command prints with --json, such as `ottla "
        "schema groups lag`; `ottla schema error` is that of a line on standard error. Without a "
        "command, list the schemas.",
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="a command, or error")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print a schema, or the names of all; return the exit code."""
    known = names()
    if not arguments.command:
        if is_json():
            print_document(known)
        else:
            print("\n".join(name.replace("-", " ", 1) for name in known))
        return 0
    name = "-".join(arguments.command)
    if name not in known:
        given = " ".join(arguments.command)
        raise ConfigError(f"there is no schema for {given!r}: `ottla schema` lists them")
    sys.stdout.write(text_of(name))
    return 0
