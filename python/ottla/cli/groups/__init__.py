"""``ottla groups``: list and describe groups, show their lag, reset and delete offsets.

Each subcommand has a module with ``add`` (its arguments) and ``run``.
"""

from __future__ import annotations

from ottla.cli.groups import clone, delete, describe, lag, listing, members, offsets, reset
from ottla.cli.resources import Subcommands, add_resource


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    modules = (listing, describe, lag, reset, offsets, clone, members, delete)
    subcommands = [module.add for module in modules]
    add_resource(commands, "groups", "list groups, show their lag, reset offsets", subcommands)
