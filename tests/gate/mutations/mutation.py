"""One fault: a text of the source and what takes its place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A mutation of the source; its name describes the bug."""

    name: str
    file: str
    old: str
    new: str
