"""How sure a finding is that follows from a failed check.

Invariant: one time-out alone makes no finding certain: a pause of the broker looks alike.
"""

from __future__ import annotations

from ottla.doctor.attempts import UNSURE
from ottla.doctor.connection_facts import Step
from ottla.doctor.findings import Certainty


def certainty_of(step: Step | None) -> Certainty:
    """Return ``certain`` unless the check timed out, and did so only once."""
    if step is None or step.reason not in UNSURE or step.attempts > 1:
        return "certain"
    return "likely"
