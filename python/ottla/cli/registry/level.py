"""``ottla registry level | set-level | reset-level``: the compatibility level of a subject."""

from __future__ import annotations

from typing import TypedDict, get_args

from ottla._internal.registry_settings import CompatibilityLevel
from ottla.cli.registry.setting import Setting, add_reset, add_set, add_show
from ottla.cli.resources import Subcommands
from ottla.schema import Registry

LEVELS: tuple[str, ...] = get_args(CompatibilityLevel)
_LEVEL = Setting(
    "level",
    "compatibility level",
    LEVELS,
    Registry.compatibility_level,
    lambda client, arguments: client.set_compatibility_level(arguments.level, arguments.subject),
    Registry.delete_compatibility_level,
    has_global_reset=True,
)


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


def add(subcommands: Subcommands) -> None:
    """Add the subcommands."""
    add_show(subcommands, _LEVEL)
    add_set(subcommands, _LEVEL)
    add_reset(subcommands, _LEVEL, "The level of the registry applies to it then.")
