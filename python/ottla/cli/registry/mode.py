"""``ottla registry mode | set-mode | reset-mode``: which requests a subject accepts."""

from __future__ import annotations

import argparse
from typing import TypedDict, get_args

from ottla._internal.registry_settings import RegistryMode
from ottla.cli.registry.setting import Setting, add_reset, add_set, add_show
from ottla.cli.resources import Subcommands
from ottla.errors import ConfigError
from ottla.schema import Registry

MODES: tuple[str, ...] = get_args(RegistryMode)


class SubjectMode(TypedDict):
    """The mode that applies to a subject or the registry.

    Attributes:
        subject: the subject; null for the registry.
        mode: the mode, such as ``READWRITE``.
        is_global: whether the subject has none of its own, so that another one applies.
    """

    subject: str | None
    mode: str
    is_global: bool


def _write(client: Registry, arguments: argparse.Namespace) -> None:
    client.set_mode(arguments.mode, arguments.subject, force=arguments.force)


_MODE = Setting(
    "mode", "mode", MODES, Registry.mode, _write, Registry.delete_mode, has_global_reset=False
)


def add(subcommands: Subcommands) -> None:
    """Add the subcommands."""
    add_show(subcommands, _MODE)
    parser = add_set(subcommands, _MODE)
    parser.add_argument(
        "--force", action="store_true", help="set IMPORT even if there are schemas already"
    )
    run = parser.get_default("run")

    def run_set(arguments: argparse.Namespace) -> int:
        if arguments.force and arguments.mode != "IMPORT":
            raise ConfigError(f"--force has no effect on {arguments.mode}: it belongs to IMPORT")
        code: int = run(arguments)
        return code

    parser.set_defaults(run=run_set)
    add_reset(
        subcommands,
        _MODE,
        "The mode of the registry applies to it then; set-mode READWRITE ends that of the registry "
        "itself.",
    )
