"""Findings: a problem, the phase in which clients meet it, and its fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
Certainty = Literal["certain", "likely"]

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
        certainty: ``certain`` if the facts show the problem and its cause, or ``likely`` if another
            cause would have the same effect, as with a time-out.
    """

    severity: Severity
    phase: str
    code: str
    summary: str
    fix: str = ""
    brokers: tuple[int, ...] = ()
    certainty: Certainty = "certain"

    @property
    def label(self) -> str:
        """The phase, and the certainty if it is not certain: ``TCP`` or ``TCP, likely``."""
        return self.phase if self.certainty == "certain" else f"{self.phase}, {self.certainty}"
