"""Shared code of the commands for a cluster's resources: parsers, results, and confirmation.

Invariant: without ``--yes``, a command that deletes or replaces something shows its plan and
changes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from ottla import Admin
from ottla._internal.text import clean
from ottla.admin import Plan
from ottla.cli.messages import Item, is_json, say_error
from ottla.cli.options import add_cluster, add_json, connect
from ottla.cli.output import (
    collect_nothing,
    collect_plan,
    collect_result,
    plain,
    print_document,
)
from ottla.cli.streams import print_done
from ottla.cli.suggestions import with_login, with_topics
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
    has_json: bool = True,
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
        has_json: whether the command prints its result as JSON, too.
    """
    text = f"{_sentence(description)} {details}".strip()
    parser = subcommands.add_parser(name, help=description, description=text)
    add_cluster(parser, positional=positional)
    if confirmed:
        parser.add_argument("--yes", action="store_true", help="do it; without --yes, only show it")
    if has_json:
        add_json(parser)
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
def admin(arguments: argparse.Namespace, waiting_for: str | None = None) -> Iterator[Admin]:
    """Yield an ``Admin`` of the cluster that the arguments name; long waits are reported.

    Args:
        arguments: the arguments of the command.
        waiting_for: what the command waits for. Default: a response from the cluster.
    """
    with (
        connect(arguments) as client,
        report_waiting(
            lambda: obstacles(client.connections()) or waiting_for, "a response from the cluster"
        ),
    ):
        manager = Admin(client)
        try:
            yield manager
        except KafkaError as error:
            with_topics(manager, error)
            with_login(error)
            raise


def show(arguments: argparse.Namespace, value: Any, tables: Sequence[Table]) -> None:
    """Print a result: as JSON, or as tables."""
    if arguments.json:
        print_document(value)
    else:
        print_tables(tables)


def confirm(arguments: argparse.Namespace, plan: Plan) -> bool:
    """Return whether to carry out a plan; show it if not."""
    if arguments.yes and plan:
        collect_plan(plan, is_shown=False)
        return True
    print_plan(plan)
    if plan:
        say_error("nothing was changed; repeat with --yes", name="NotConfirmed")
    return False


def print_plan(plan: Plan, *, applied_to: Mapping[str, object] | None = None) -> None:
    """Print a line for each change.

    Args:
        plan: the plan.
        applied_to: the item to which it was applied, such as ``{"group_id": "billing"}``. Default:
            it was not carried out.
    """
    collect_plan(plan, is_shown=True)
    if plan and applied_to is not None:
        collect_result(cast("Item", dict(applied_to)), None)
    if is_json():
        return
    for line in map(str, plan):
        print(clean(line))
    if not plan:
        print("nothing to change")


def report(
    results: Mapping[K, object],
    done: str,
    name: Callable[[K], str] = str,
    of: str = "",
    *,
    noun: str = "name",
    is_unchanged: bool = False,
) -> int:
    """Print a line for each item that was changed, and the errors of the others.

    Args:
        results: the results by item, of a call with ``errors="return"``.
        done: what was done, such as ``created topic``.
        name: returns the name of an item.
        of: added after the name.
        noun: what the items are in JSON, such as ``topic``, if they are text or numbers.
            Partitions and dataclasses are objects by themselves.
        is_unchanged: whether the items without an error were so before.

    Returns:
        The exit code: 1 if an item failed.
    """
    code = 0
    collect_nothing()
    for key, result in results.items():
        found = plain(key)
        item = cast("Item", found if isinstance(found, dict) else {noun: found})
        if isinstance(result, KafkaError):
            code = 1
            collect_result(item, result)
            doubt = "; the change may have been made nevertheless" if result.maybe_done else ""
            say_error(result, suffix=doubt, item=item)
        else:
            collect_result(item, None, is_unchanged=is_unchanged)
            if not is_json():
                print_done(clean(f"{done} {name(key)}{of}"))
    return code


def report_one(item: Item, line: str, *, is_unchanged: bool = False) -> int:
    """Print that the only item of a command was changed; return the exit code, 0.

    Args:
        item: the item.
        line: what was done to it, such as ``deleted subject orders-value``.
        is_unchanged: whether it was so before.
    """
    collect_result(item, None, is_unchanged=is_unchanged)
    if not is_json():
        print_done(clean(line))
    return 0


def partition_name(partition: tuple[str, int]) -> str:
    """Return a partition as ``orders-0``."""
    return f"{partition[0]}-{partition[1]}"


def joined(values: Sequence[object]) -> str:
    """Return values with commas between them."""
    return ",".join(map(str, values))


def text(value: object) -> str:
    """Return a value as the text of a cell; an unknown one is empty."""
    return "" if value is None else str(value)
