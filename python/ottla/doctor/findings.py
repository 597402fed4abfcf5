"""A finding: what is wrong, in words, where in the order of things, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]

# Where clients get stuck, in the order in which they get there; and the exit code of
# `ottla doctor` for the first error. 0 is none; 1 and 2 are the command's own failures.
EXIT_CODES = {
    "DNS": 3,
    "TCP": 4,
    "TLS": 5,
    "ApiVersions": 6,
    "SASL": 7,
    "Metadata": 8,
    "Advertised": 9,
    "Leaders": 10,
    "Coordinators": 11,
    "Controllers": 12,
}


@dataclass(frozen=True)
class Finding:
    """One thing to know.

    Attributes:
        severity: ``error``: clients fail by it; ``warning``: they may; ``note``: good to know.
        phase: where, a key of ``EXIT_CODES``.
        code: what, for programs; stays the same when the words change.
        summary: what was found, in words.
        fix: what to do about it; empty if nothing is to be done.
        brokers: the brokers that it concerns.
    """

    severity: Severity
    phase: str
    code: str
    summary: str
    fix: str = ""
    brokers: tuple[int, ...] = ()
