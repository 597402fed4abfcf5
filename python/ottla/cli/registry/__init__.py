"""``ottla registry``: the subjects and schemas of a schema registry.

Each subcommand has a module with ``add`` (its arguments) and ``run``; ``level`` and ``mode`` have
three subcommands each.
All use the registry client of ``consume`` and ``produce``, with the same configuration keys.
"""

from __future__ import annotations

from ottla.cli.registry import (
    compatibility,
    delete,
    diff,
    level,
    mode,
    register,
    show,
    subjects,
    versions,
)
from ottla.cli.resources import Subcommands, add_resource


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    modules = (subjects, versions, show, diff, compatibility, register, delete, level, mode)
    description = "list, show, compare, register and delete schemas of a schema registry"
    add_resource(commands, "registry", description, [module.add for module in modules])
