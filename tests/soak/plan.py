"""What the command line asks of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Plan:
    """The length of a run, its load, its faults, and where its files are."""

    minutes: float
    rate: int
    """Numbers a second."""
    seed: int
    pause: float
    """Mean seconds between the recovery from a fault and the next one."""
    interval: float
    """Seconds between samples."""
    directory: Path
    only: Sequence[str] = ()
    """The kinds of faults; all if there are none."""
