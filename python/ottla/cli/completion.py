"""``ottla completion``: a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse

from ottla.cli.packages import require
from ottla.cli.resources import Subcommands

_SHELLS = ["bash", "zsh", "fish", "tcsh"]


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print a script that completes commands and options in a shell.",
        epilog='In bash: eval "$(ottla completion bash)"',
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    require("completion", "shtab")
    import shtab

    from ottla.cli import build_parser

    print(shtab.complete(build_parser(), arguments.shell))
    return 0
