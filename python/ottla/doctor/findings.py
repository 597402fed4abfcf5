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
    """A finding: a problem, its cause and its fix.

    Attributes:
        severity: ``error`` if clients fail because of it, ``warning`` if they may, or ``note``.
        phase: the phase, a key of ``EXIT_CODES``.
        code: the kind of problem, for programs; it stays the same when the text changes.
        summary: the problem, as text.
        fix: what to do about it; empty if nothing needs to be done.
        brokers: the ids of the brokers that it concerns.
    """

    severity: Severity
    phase: str
    code: str
    summary: str
    fix: str = ""
    brokers: tuple[int, ...] = ()
