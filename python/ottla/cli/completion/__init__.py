"""``ottla completion``: a script that completes commands, options and names in a shell.

argcomplete writes the script. On each completion, the script runs ``ottla`` with ``_ARGCOMPLETE``
set, and ``main`` calls ``complete`` instead of a command.

Invariant: a prompt never waits longer than ``limit()``, and a failure prints nothing.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable
from typing import TypedDict

from ottla.cli.options import add_json
from ottla.cli.output import print_document
from ottla.cli.packages import require
from ottla.cli.resources import Subcommands

_SHELLS = ["bash", "zsh", "fish", "tcsh"]

_LIMIT = 1.0


class Completion(TypedDict):
    """The document of the command.

    Attributes:
        shell: the shell.
        script: the script that completes commands in it.
    """

    shell: str
    script: str


def limit() -> float:
    """Return the seconds after which a completion ends, with names or without.

    ``$OTTLA_COMPLETION_TIMEOUT`` raises them for a cluster that is far away.
    """
    try:
        return min(max(float(os.environ["OTTLA_COMPLETION_TIMEOUT"]), 0.1), 60.0)
    except (KeyError, ValueError):
        return _LIMIT


def add(commands: Subcommands) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and names in a shell",
        description="Print a script that completes commands, options, and names of the cluster.",
        epilog='In bash: eval "$(ottla completion bash)"',
    )
    parser.add_argument("shell", choices=_SHELLS, help="the shell")
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    require("completion", "argcomplete")
    from argcomplete.shell_integration import shellcode

    # By default, bash would complete names of files where none fit.
    options = ["-o", "nospace"]
    script: str = shellcode(["ottla"], shell=arguments.shell, complete_arguments=options)
    if arguments.json:
        print_document(Completion(shell=arguments.shell, script=script))
    else:
        print(script)
    return 0


def complete(build: Callable[[list[str]], argparse.ArgumentParser]) -> None:
    """Write the completions that the shell's script asks for, and end the process.

    Args:
        build: returns the parser for the words before the cursor.
    """
    seconds = limit()
    deadline = time.monotonic() + seconds
    # Not a signal: shells report a process that a signal ended.
    watchdog = threading.Timer(seconds, os._exit, [1])
    watchdog.daemon = True
    watchdog.start()
    try:
        from argcomplete import autocomplete
        from argcomplete.completers import SuppressCompleter
        from argcomplete.lexers import split_line

        from ottla.cli.completion.arguments import add_completers

        _, _, _, words, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
        parser = build(words[1:])
        add_completers(parser, deadline)
        autocomplete(
            parser,
            always_complete_options=False,
            default_completer=SuppressCompleter(),
        )
    finally:
        # Without fd 8 or argcomplete, too: this is not the command that the words name.
        os._exit(1)
