"""Shared code of the commands for a cluster's resources: parsers, results, and confirmation.

Invariant: without ``--yes``, a command that deletes or replaces something shows its plan and
changes nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ottla import Admin
from ottla._internal.text import clean
from ottla.admin import Plan
from ottla.cli.options import add_cluster, connect
from ottla.cli.streams import print_done
from ottla.cli.suggestions import with_topics
from ottla.cli.tables import Table, print_tables
from ottla.cli.waiting import obstacles, report_waiting
from ottla.errors import KafkaError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

K = TypeVar("K", bound=Hashable)

Subcommands: TypeAlias = "_SubParsersAction[argparse.ArgumentParser]"
"""The object to which subcommands are added."""


def add_resource(
    commands: Subcommands,
    name: str,
    description: str,
    subcommands: Sequence[Callable[[Subcommands], None]],
) -> None:
    """Add a command that has subcommands."""
    parser = commands.add_parser(name, help=description, description=_sentence(description))
    added = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    for add in subcommands:
        add(added)


def add_subcommand(
    subcommands: Subcommands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    description: str,
    *,
    details: str = "",
    positional: bool = False,
    confirmed: bool = False,
    has_json: bool = False,
) -> argparse.ArgumentParser:
    """Add a subcommand, or a command without any, with the arguments for the cluster.

    Args:
        subcommands: the subcommands of a resource, or the commands.
        name: its name.
        run: runs the command, and returns the exit code.
        description: one line without a full stop that says what the command does.
        details: more sentences for ``--help``.
        positional: whether the address may be a positional argument.
        confirmed: whether the command needs ``--yes``.
        has_json: whether the command prints a result, as text or as JSON.
    """
    text = f"{_sentence(description)} {details}".strip()
    parser = subcommands.add_parser(name, help=description, description=text)
    add_cluster(parser, positional=positional)
    if confirmed:
        parser.add_argument("--yes", action="store_true", help="do it; without --yes, only show it")
    if has_json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def add_dry_run(
    parser: argparse.ArgumentParser, description: str = "let the cluster only validate the request"
) -> None:
    """Add the argument ``--dry-run``."""
    parser.add_argument("--dry-run", action="store_true", help=description)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@contextmanager
def admin(
    arguments: argparse.Namespace, waiting_for: str = "a response from the cluster"
) -> Iterator[Admin]:
    """Yield an ``Admin`` of the cluster that the arguments name; long waits are reported."""
    with (
        connect(arguments) as client,
        report_waiting(lambda: obstacles(client.connections()) or waiting_for),
    ):
        manager = Admin(client)
        try:
            yield manager
        except KafkaError as error:
            with_topics(manager, error)
            raise


def show(arguments: argparse.Namespace, value: Any, tables: Sequence[Table]) -> None:
    """Print a result: as JSON, or as tables."""
    if arguments.json:
        json.dump(plain(value), sys.stdout, indent=2)
        print()
    else:
        print_tables(tables)


def plain(value: Any) -> Any:
    """Return a value in JSON's types. Dataclasses and partitions become objects."""
    match value:
        case (str() as topic, int() as partition):
            return {"topic": topic, "partition": partition}
        case list() | tuple() | set():
            return [plain(each) for each in value]
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case KafkaError():
            return {"error": value.name, "message": str(value)}
        case _ if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return {each.name: plain(getattr(value, each.name)) for each in fields}
        case _:
            return value


def confirm(arguments: argparse.Namespace, plan: Plan) -> bool:
    """Return whether to carry out a plan; show it if not."""
    if arguments.yes and plan:
        return True
    print_plan(plan)
    if plan:
        print("ottla: nothing was changed; repeat with --yes", file=sys.stderr)
    return False


def print_plan(plan: Plan) -> None:
    """Print a line for each change."""
    for line in map(str, plan):
        print(clean(line))
    if not plan:
        print("nothing to change")


def report(
    results: Mapping[K, object], done: str, name: Callable[[K], str] = str, of: str = ""
) -> int:
    """Print a line for each item that was changed, and the errors of the others.

    Args:
        results: the results by item, of a call with ``errors="return"``.
        done: what was done, such as ``created topic``.
        name: returns the name of an item.
        of: added after the name.

    Returns:
        The exit code: 1 if an item failed.
    """
    code = 0
    for item, result in results.items():
        if isinstance(result, KafkaError):
            code = 1
            doubt = "; the change may have been made nevertheless" if result.maybe_done else ""
            print(f"ottla: {result}{doubt}", file=sys.stderr)
        else:
            print_done(clean(f"{done} {name(item)}{of}"))
    return code


def partition_name(partition: tuple[str, int]) -> str:
    """Return a partition as ``orders-0``."""
    return f"{partition[0]}-{partition[1]}"


def joined(values: Sequence[object]) -> str:
    """Return values with commas between them."""
    return ",".join(map(str, values))


def text(value: object) -> str:
    """Return a value as the text of a cell; an unknown one is empty."""
    return "" if value is None else str(value)
