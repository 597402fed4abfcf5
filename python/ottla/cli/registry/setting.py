"""The commands that show, set and reset a setting of a subject or a registry: its level, its mode.

Invariant: without ``--yes`` nothing is changed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ottla.admin import Plan, PlannedChange
from ottla.cli.messages import Item
from ottla.cli.registry.connection import add_registry, has_no_setting, registry
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_subcommand,
    confirm,
    print_plan,
    report_one,
    show,
)
from ottla.cli.tables import Table
from ottla.errors import SchemaError
from ottla.schema import Registry, RegistrySetting

_DEFAULT = "that of the registry"


@dataclass(frozen=True)
class Setting:
    """A setting.

    Attributes:
        noun: its name, such as ``level``: that of the commands and of the field in JSON.
        title: its name in full, such as ``compatibility level``.
        values: its values.
        read: returns the one that applies to a subject, or to the registry (None).
        write: sets it, with the arguments of the command.
        delete: removes that of a subject; of the registry, if ``has_global_reset``.
        has_global_reset: whether registries can remove their own, so that a default applies.
    """

    noun: str
    title: str
    values: tuple[str, ...]
    read: Callable[[Registry, str | None], RegistrySetting]
    write: Callable[[Registry, argparse.Namespace], None]
    delete: Callable[[Registry, Any], None]
    has_global_reset: bool


def add_show(subcommands: Subcommands, setting: Setting) -> None:
    """Add the command that shows the setting, such as ``level``."""
    parser = add_subcommand(
        subcommands,
        setting.noun,
        lambda arguments: _run_show(setting, arguments),
        f"show the {setting.title} of a subject",
    )
    _add_subject(parser, setting)
    add_registry(parser)


def add_set(subcommands: Subcommands, setting: Setting) -> argparse.ArgumentParser:
    """Add the command that sets it, such as ``set-level``; return its parser."""
    parser = add_subcommand(
        subcommands,
        f"set-{setting.noun}",
        lambda arguments: _run_set(setting, arguments),
        f"set the {setting.title} of a subject",
        confirmed=True,
    )
    parser.add_argument(
        setting.noun,
        type=str.upper,
        choices=setting.values,
        metavar=setting.noun.upper(),
        help=f"one of {', '.join(setting.values)}, in whichever case",
    )
    _add_subject(parser, setting)
    add_registry(parser)
    add_dry_run(parser, "only show the plan")
    return parser


def add_reset(subcommands: Subcommands, setting: Setting, details: str) -> None:
    """Add the command that removes it, such as ``reset-level``."""
    parser = add_subcommand(
        subcommands,
        f"reset-{setting.noun}",
        lambda arguments: _run_reset(setting, arguments),
        f"remove the {setting.title} of a subject",
        details=details,
        confirmed=True,
    )
    if setting.has_global_reset:
        _add_subject(parser, setting)
    else:
        parser.add_argument("subject", metavar="SUBJECT", help="the subject")
    add_registry(parser)
    add_dry_run(parser, "only show the plan")


def _add_subject(parser: argparse.ArgumentParser, setting: Setting) -> None:
    parser.add_argument(
        "subject",
        nargs="?",
        metavar="SUBJECT",
        help=f"the subject (the registry itself, for all subjects without a {setting.noun} of "
        "their own)",
    )


def _run_show(setting: Setting, arguments: argparse.Namespace) -> int:
    with registry(arguments) as client:
        found = setting.read(client, arguments.subject)
    value = {
        "subject": arguments.subject,
        setting.noun: found.value,
        "is_global": found.is_global,
    }
    source = f" ({_DEFAULT})" if arguments.subject and found.is_global else ""
    line = f"{_name(arguments.subject)}: {found.value}{source}"
    show(arguments, value, [Table("", [], [], [line])])
    return 0


def _run_set(setting: Setting, arguments: argparse.Namespace) -> int:
    with registry(arguments) as client:
        old = _own(setting, client, arguments.subject)
        new = getattr(arguments, setting.noun)
        if not _is_confirmed(setting, arguments, "set", old, new):
            return 0 if arguments.dry_run else 1
        setting.write(client, arguments)
    return _report(arguments, f"set the {setting.noun} of")


def _run_reset(setting: Setting, arguments: argparse.Namespace) -> int:
    with registry(arguments) as client:
        old = _own(setting, client, arguments.subject)
        if old is None:
            return _report(arguments, f"there is no own {setting.noun} of", is_unchanged=True)
        new = "the default" if arguments.subject is None else _DEFAULT
        if not _is_confirmed(setting, arguments, "reset", old, new):
            return 0 if arguments.dry_run else 1
        try:
            setting.delete(client, arguments.subject)
        except SchemaError as error:
            # Another client may have been faster.
            if not has_no_setting(error):
                raise
    return _report(arguments, f"reset the {setting.noun} of")


def _report(arguments: argparse.Namespace, done: str, *, is_unchanged: bool = False) -> int:
    line = f"{done} {_name(arguments.subject)}"
    return report_one(Item(subject=arguments.subject), line, is_unchanged=is_unchanged)


def _own(setting: Setting, client: Registry, subject: str | None) -> str | None:
    found = setting.read(client, subject)
    return None if subject is not None and found.is_global else found.value


def _is_confirmed(
    setting: Setting, arguments: argparse.Namespace, verb: str, old: str | None, new: str
) -> bool:
    target = f"{setting.title} of {_name(arguments.subject)}"
    plan = Plan([PlannedChange(verb, target, "", old or _DEFAULT, new)])
    if arguments.dry_run:
        print_plan(plan)
        return False
    return confirm(arguments, plan)


def _name(subject: str | None) -> str:
    return "the registry" if subject is None else subject
