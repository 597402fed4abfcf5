"""Findings: a problem, the phase in which clients meet it, and its fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]

# The phases of a client in their order, with the exit code of `ottla doctor` if the first error is
# there. 0 means no error; 1 and 2 are failures of the command itself.
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
        fix: what to do; empty if nothing needs to be done.
        brokers: the ids of the brokers that it concerns.
    """

    severity: Severity
    phase: str
    code: str
    summary: str
    fix: str = ""
    brokers: tuple[int, ...] = ()
