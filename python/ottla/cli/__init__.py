"""The command line: ``ottla topology | doctor | produce | consume | watch``.

One file a command, each with ``add`` (its arguments) and ``run``. Arguments are parsed by the
standard library, so that the commands one needs on a bare host work with nothing else installed;
tables and live pictures are drawn by rich, which ``pip install 'ottla[cli]'`` brings.

Exit codes: 0; 1 if something failed; 2 for wrong arguments or configuration; 130 after Ctrl-C;
141 when whoever read the output has gone. ``doctor`` adds its own.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence

import ottla
from ottla.cli import consume, doctor, produce, topology, watch
from ottla.errors import ConfigError, KafkaError
from ottla.stderr_log import show_warnings

_COMMANDS = (topology, doctor, produce, consume, watch)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; what it parses has the command to ``run``."""
    parser = argparse.ArgumentParser(
        prog="ottla", description="Look at a Kafka cluster, and write to and read from its topics."
    )
    parser.add_argument("--version", action="version", version=f"ottla {ottla.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    arguments = build_parser().parse_args(argv)
    # Such as that records were gone and are left out: the output would look complete.
    show_warnings(logging.Formatter("ottla: %(message)s"))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except ConfigError as error:
        return _fail(error, 2)
    except (KafkaError, OSError) as error:
        return _fail(error, 1)
    return code


def _fail(error: Exception, code: int) -> int:
    print(f"ottla: {error}", file=sys.stderr)
    return code
