"""``ottla completion``: a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse
from typing import TypedDict

from ottla.cli.options import add_json
from ottla.cli.output import print_document
from ottla.cli.packages import require
from ottla.cli.resources import Subcommands

_SHELLS = ["bash", "zsh", "fish", "tcsh"]


class Completion(TypedDict):
    """The document of the command.

    Attributes:
        shell: the shell.
        script: the script that completes commands in it.
    """

    shell: str
    script: str


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a script that completes commands and options in a shell.",
        epilog='In bash: eval "$(ottla completion bash)"',
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    require("completion", "shtab")
    import shtab

    from ottla.cli import build_parser

    script = shtab.complete(build_parser(), arguments.shell)
    if arguments.json:
        print_document(Completion(shell=arguments.shell, script=script))
    else:
        print(script)
    return 0
