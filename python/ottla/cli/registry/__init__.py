"""``ottla registry``: the subjects and schemas of a schema registry.

Each subcommand has a module with ``add`` (its arguments) and ``run``. All use the registry client
of ``consume`` and ``produce``, with the same configuration keys.
"""

from __future__ import annotations

from ottla.cli.registry import compatibility, diff, register, show, subjects, versions
from ottla.cli.resources import Subcommands, add_resource


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    modules = (subjects, versions, show, diff, compatibility, register)
    subcommands = [module.add for module in modules]
    description = "list, show, compare and register schemas of a schema registry"
    add_resource(commands, "registry", description, subcommands)
