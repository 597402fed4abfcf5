"""``ottla registry level``, ``set-level``, ``reset-level``: the compatibility level of a subject.

Invariant: without ``--yes`` no level is changed.
"""

from __future__ import annotations

import argparse
from typing import TypedDict, get_args

from ottla._internal.registry_settings import CompatibilityLevel
from ottla.admin import Plan, PlannedChange
from ottla.cli.registry.connection import add_registry, has_no_setting, registry
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    confirm,
    print_plan,
    report,
    show,
)
from ottla.cli.tables import Table
from ottla.errors import SchemaError
from ottla.schema import Registry

LEVELS: tuple[str, ...] = get_args(CompatibilityLevel)
_DEFAULT = "that of the registry"


class SubjectLevel(TypedDict):
    """The compatibility level that applies to a subject or the registry.

    Attributes:
        subject: the subject; null for the registry.
        level: the level, such as ``BACKWARD``.
        is_global: whether the subject has none of its own, so that another one applies.
    """

    subject: str | None
    level: str
    is_global: bool


def add_level(subcommands: Subcommands) -> None:
    """Add ``level``."""
    parser = add_subcommand(
        subcommands, "level", run_level, "show the compatibility level of a subject"
    )
    _add_subject(parser)
    add_registry(parser)


def add_set_level(subcommands: Subcommands) -> None:
    """Add ``set-level``."""
    parser = add_subcommand(
        subcommands,
        "set-level",
        run_set_level,
        "set the compatibility level of a subject",
        confirmed=True,
    )
    parser.add_argument(
        "level",
        type=str.upper,
        choices=LEVELS,
        metavar="LEVEL",
        help=f"one of {', '.join(LEVELS)}, in whichever case",
    )
    _add_subject(parser)
    add_registry(parser)
    add_dry_run(parser, "only show the plan")


def add_reset_level(subcommands: Subcommands) -> None:
    """Add ``reset-level``."""
    parser = add_subcommand(
        subcommands,
        "reset-level",
        run_reset_level,
        "remove the compatibility level of a subject",
        details="The level of the registry applies to it then.",
        confirmed=True,
    )
    _add_subject(parser)
    add_registry(parser)
    add_dry_run(parser, "only show the plan")


def _add_subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "subject",
        nargs="?",
        metavar="SUBJECT",
        help="the subject (the registry itself, for all subjects without a level of their own)",
    )


def run_level(arguments: argparse.Namespace) -> int:
    """Show a level; return the exit code."""
    with registry(arguments) as client:
        found = client.compatibility_level(arguments.subject)
    value: SubjectLevel = {
        "subject": arguments.subject,
        "level": found.value,
        "is_global": found.is_global,
    }
    source = f" ({_DEFAULT})" if arguments.subject and found.is_global else ""
    line = f"{_name(arguments.subject)}: {found.value}{source}"
    show(arguments, value, [Table("", [], [], [line])])
    return 0


def run_set_level(arguments: argparse.Namespace) -> int:
    """Set a level; return the exit code."""
    with registry(arguments) as client:
        old = _own_level(client, arguments.subject)
        if not _is_confirmed(arguments, "set", old, arguments.level):
            return 0 if arguments.dry_run else 1
        client.set_compatibility_level(arguments.level, arguments.subject)
    return report({_name(arguments.subject): None}, "set the level of", noun="name")


def run_reset_level(arguments: argparse.Namespace) -> int:
    """Remove a level; return the exit code."""
    with registry(arguments) as client:
        old = _own_level(client, arguments.subject)
        name = _name(arguments.subject)
        if old is None:
            done = "there is no own level of"
            return report({name: None}, done, noun="name", is_unchanged=True)
        new = "the default" if arguments.subject is None else _DEFAULT
        if not _is_confirmed(arguments, "reset", old, new):
            return 0 if arguments.dry_run else 1
        try:
            client.delete_compatibility_level(arguments.subject)
        except SchemaError as error:
            # Another client may have been faster.
            if not has_no_setting(error):
                raise
    return report({name: None}, "reset the level of", noun="name")


def _own_level(client: Registry, subject: str | None) -> str | None:
    found = client.compatibility_level(subject)
    return None if subject is not None and found.is_global else found.value


def _is_confirmed(arguments: argparse.Namespace, verb: str, old: str | None, new: str) -> bool:
    target = f"compatibility level of {_name(arguments.subject)}"
    plan = Plan([PlannedChange(verb, target, "", old or _DEFAULT, new)])
    if arguments.dry_run:
        print_plan(plan)
        return False
    return confirm(arguments, plan)


def _name(subject: str | None) -> str:
    return "the registry" if subject is None else subject
