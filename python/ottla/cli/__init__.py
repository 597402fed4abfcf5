"""The command line: ``ottla topology | doctor | produce | consume | watch``, and what manages a
cluster: ``ottla topics | groups | configs | acls | users | quotas | brokers | offsets``.

``verifiable-producer``, ``verifiable-consumer`` and ``transactional-copier`` are for system tests.

Each command has a module with ``add`` (its arguments) and ``run``. Arguments are parsed by the
standard library, so that most commands need no other package; tables and the live view need rich
(``pip install 'ottla[cli]'``).

Exit codes: 0 for success; 1 for a failure; 2 for wrong arguments or configuration; 130 after
Ctrl-C; 141 if the reader of the output has exited. ``doctor`` has further codes.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence

import ottla
from ottla.cli import (
    acls,
    brokers,
    completion,
    configs,
    consume,
    doctor,
    groups,
    offsets,
    produce,
    profile_list,
    quotas,
    topics,
    topology,
    transactions,
    users,
    watch,
)
from ottla.cli.options import add_profile
from ottla.cli.system_tests import transactional_copier, verifiable_consumer, verifiable_producer
from ottla.errors import ConfigError, KafkaError
from ottla.stderr_log import show_warnings

_COMMANDS = (
    topology,
    doctor,
    produce,
    consume,
    watch,
    topics,
    groups,
    offsets,
    configs,
    brokers,
    acls,
    users,
    quotas,
    transactions,
    profile_list,
    completion,
    verifiable_producer,
    verifiable_consumer,
    transactional_copier,
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; its result has the command's ``run``."""
    parser = argparse.ArgumentParser(
        prog="ottla", description="Inspect and manage a Kafka cluster, read and write its topics."
    )
    parser.add_argument("--version", action="version", version=f"ottla {ottla.__version__}")
    add_profile(parser)
    # For ``completion``.
    parser.set_defaults(root=parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    arguments = build_parser().parse_args(argv)
    # For example, about skipped records: without it, the output would look complete.
    show_warnings(logging.Formatter("ottla: %(message)s"))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Otherwise Python would report the error again when it flushes at exit.
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
