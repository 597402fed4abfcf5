"""``ottla schema``: the JSON Schema of what a command prints with ``--json``.

``tools/command_schemas.py`` generates the files in ``schemas/`` from the types of the documents.
"""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from typing import TYPE_CHECKING

from ottla.cli.messages import is_json
from ottla.cli.options import add_json
from ottla.cli.output import print_document
from ottla.cli.resources import Subcommands
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from importlib.abc import Traversable

VERSION = "v1"
_SUFFIX = ".json"


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


def names() -> list[str]:
    """Return the names of the schemas."""
    found = (each.name for each in _folder().iterdir())
    return sorted(each.removesuffix(_SUFFIX) for each in found if each.endswith(_SUFFIX))


def text_of(name: str) -> str:
    """Return the text of a schema."""
    return (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def _folder() -> Traversable:
    return files("ottla.cli") / "schemas" / VERSION
