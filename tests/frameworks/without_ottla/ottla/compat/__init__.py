"""`ottla.compat` of control runs: programs keep the client that they were written for."""

from __future__ import annotations


def install(name: str) -> None:
    """Leave the client as it is."""
    del name
