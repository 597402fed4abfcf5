"""The progress of a diagnosis: each check as it starts and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class DiagnosisStep:
    """A check that starts or ends, for ``ottla.diagnose(on_step=…)``.

    Checks of several targets run at the same time, so their steps alternate. Each target and check
    that starts also ends.

    Attributes:
        phase: the phase of a client, a key of ``findings.EXIT_CODES``. The checks of a broker at
            its advertised address belong to ``Advertised``.
        target: what is checked, as text: ``bootstrap server kafka1:9092 (203.0.113.9)``,
            ``broker 2 at 10.0.1.5:9092``, ``orders-0``, ``group billing``, ….
        check: the check, as in ``Step.check``.
        state: ``started``, ``passed`` or ``failed``.
        message: why it failed, for people; otherwise empty.
        seconds: its duration; 0 as it starts.
    """

    phase: str
    target: str
    check: str
    state: Literal["started", "passed", "failed"]
    message: str = ""
    seconds: float = 0.0
