"""The command line: ``ottla topology | doctor | produce | consume | watch | console``, and the
commands that manage a cluster: ``ottla topics | groups | offsets | configs | brokers | quorum |
features | acls | users | quotas | tokens | transactions | dead-letters``, and ``registry`` for a
schema registry.

``verifiable-producer``, ``verifiable-consumer`` and ``transactional-copier`` are for system tests.

Each command has a module with ``add`` (its arguments) and ``run``. Only ``console``, the live views
of ``watch`` and ``topics top``, and ``completion`` need other packages (``pip install
'ottla[cli,console]'``).

``messages.py`` owns standard error, and ``output.py`` the documents of ``--json``. The exit codes
are in docs/reference/cli.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

import ottla
from ottla._internal.arguments import words as argument_words
from ottla._internal.stderr_log import show_warnings
from ottla._internal.text import reason
from ottla.cli.argument_parser import Parser, asks_for_json
from ottla.cli.messages import WarningFormatter, say_error, set_json, text_or_json
from ottla.cli.options import add_profile
from ottla.cli.output import one_document
from ottla.cli.signals import ended_by_signals, signal_of
from ottla.cli.streams import Replacements, standard_streams
from ottla.cli.texts import as_utf8, check_arguments
from ottla.cli.waiting import is_news
from ottla.errors import ConfigError, KafkaError

_COMMANDS = {
    "topology": "topology",
    "doctor": "doctor",
    "produce": "produce",
    "consume": "consume",
    "watch": "watch",
    "console": "ottla.console.command",
    "gateway": "gateway",
    "gateway-users": "gateway_users",
    "topics": "topics",
    "groups": "groups",
    "offsets": "offsets",
    "configs": "configs",
    "brokers": "brokers",
    "quorum": "quorum",
    "features": "features",
    "acls": "acls",
    "users": "users",
    "quotas": "quotas",
    "tokens": "tokens",
    "transactions": "transactions",
    "dead-letters": "dead_letters",
    "registry": "registry",
    "profiles": "profile_list",
    "schema": "schema",
    "completion": "completion",
    "verifiable-producer": "system_tests.verifiable_producer",
    "verifiable-consumer": "system_tests.verifiable_consumer",
    "transactional-copier": "system_tests.transactional_copier",
}
"""The module of each command, in this package unless it is absolute."""


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser; its result has the command's ``run``.

    Args:
        only: the only command to add arguments for, since importing all of them takes longer than
            most commands do. Default: all commands, for help and errors.
    """
    parser = Parser(
        prog="ottla", description="Inspect and manage a Kafka cluster, read and write its topics."
    )
    parser.add_argument("--version", action="version", version=f"ottla {ottla.__version__}")
    add_profile(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in [only] if only in _COMMANDS else _COMMANDS:
        module = _COMMANDS[name]
        full = module if module.startswith("ottla.") else f"ottla.cli.{module}"
        importlib.import_module(full).add(commands)
    return parser


def _command_of(argv: Sequence[str]) -> str | None:
    """Return the first argument that is neither an option nor its value."""
    words = iter(argv)
    for word in words:
        if word == "--profile":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    if argv is None and "_ARGCOMPLETE" in os.environ:
        from ottla.cli.completion import complete

        complete(lambda words: build_parser(_command_of(words)))
    words = [
        as_utf8(word) for word in (sys.argv[1:] if argv is None else argument_words("argv", argv))
    ]
    with (
        standard_streams(),
        ended_by_signals(),
        # Also the errors of arguments that cannot be parsed are JSON.
        text_or_json(asks_for_json(words)),
    ):
        replacements = Replacements()
        return replacements.exit_code(_run(words))


def _run(argv: Sequence[str]) -> int:
    exit_code = 1
    try:
        arguments = build_parser(_command_of(argv)).parse_args(argv)
        # A command whose code 1 is a result has another one for errors.
        exit_code = getattr(arguments, "exit_code_of_errors", exit_code)
        # For example, about skipped records: without it, the output would look complete.
        show_warnings(WarningFormatter(), is_news)
        set_json(getattr(arguments, "json", False))
        check_arguments(arguments)
        with one_document():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        return 128 + signal_of(error)
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
    except ConfigError as error:
        return _fail(error, 2)
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        # The text is not shown, since it may be a secret.
        message = f"a text cannot be encoded in {error.encoding}: {error.reason}"
        return _fail(message, 2, type(error).__name__)
    except KafkaError as error:
        return _fail(error, exit_code)
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        return _fail(f"{file}{reason(error)}", exit_code, type(error).__name__)
    return code


def _fail(error: Exception | str, code: int, name: str | None = None) -> int:
    say_error(error, name=name)
    return code
