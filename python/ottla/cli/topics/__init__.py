"""``ottla topics``: list, describe, create and delete topics, move replicas, elect leaders.

Each subcommand has a module with ``add`` (its arguments) and ``run``.
"""

from __future__ import annotations

from ottla.cli.resources import Subcommands, add_resource
from ottla.cli.topics import (
    clone,
    create,
    delete,
    describe,
    elections,
    listing,
    partitions,
    reassignments,
    records,
    top,
)


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    modules = (
        listing,
        describe,
        top,
        create,
        clone,
        partitions,
        reassignments,
        elections,
        records,
        delete,
    )
    subcommands = [module.add for module in modules]
    add_resource(commands, "topics", "list, describe, create and delete topics", subcommands)
