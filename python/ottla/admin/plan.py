"""Plans: what a call with ``dry_run=True`` would change.

Invariant: making a plan changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.admin.tables import Table


@dataclass(frozen=True)
class PlannedChange:
    """One change.

    Attributes:
        action: what would be done, such as ``create`` or ``delete``.
        resource: to what, such as ``topic orders``.
        detail: how, such as ``6 partitions``; empty if there is nothing to add.
        before: the value that would be replaced, or None.
        after: the new value, or None.
    """

    action: str
    resource: str
    detail: str = ""
    before: str | None = None
    after: str | None = None

    def __str__(self) -> str:
        """Return one line for people."""
        line = f"{self.action} {self.resource}"
        if self.detail:
            line += f": {self.detail}"
        if self.before is not None or self.after is not None:
            before, after = (each or "none" for each in (self.before, self.after))
            line += f" ({before} -> {after})"
        return line


class Plan(Table[PlannedChange]):
    """The changes that a call would make. ``str()`` returns one line for each change."""

    def __init__(self, changes: list[PlannedChange]) -> None:
        super().__init__(PlannedChange, changes)

    def __str__(self) -> str:
        """Return one line for each change."""
        return "\n".join(map(str, self)) if self else "nothing to change"
