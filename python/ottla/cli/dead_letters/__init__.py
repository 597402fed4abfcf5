"""``ottla dead-letters list | replay``: records that failed, of ottla and of other tools.

Each subcommand has a module with ``add`` (its arguments) and ``run``.
"""

from __future__ import annotations

from ottla.cli.dead_letters import listing, replay
from ottla.cli.resources import Subcommands, add_resource


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    subcommands = [listing.add, replay.add]
    add_resource(commands, "dead-letters", "list and replay records that failed", subcommands)
