"""How late a group is, from samples of the sums of its committed and end offsets.

Invariant: what the samples do not show is called "at least", never a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """The sums over the partitions of a group.

    Attributes:
        time: seconds since 1970.
        committed: the sum of the committed offsets.
        end: the sum of the end offsets of the same partitions.
    """

    time: float
    committed: int
    end: int

    @property
    def lag(self) -> int:
        """The records between them."""
        return max(0, self.end - self.committed)


def behind(samples: Sequence[Sample]) -> tuple[float, bool] | None:
    """Return the seconds since the next record to read was the newest one, or None.

    Returns:
        The seconds, and whether it is longer than that: the samples begin later.
    """
    if not samples:
        return None
    last = samples[-1]
    if last.lag == 0:
        return 0.0, False
    after = last
    for sample in reversed(samples):
        if sample.end <= last.committed:
            grown = after.end - sample.end
            part = (last.committed - sample.end) / grown if grown > 0 else 0.0
            return last.time - (sample.time + part * (after.time - sample.time)), False
        after = sample
    return (last.time - samples[0].time, True) if len(samples) > 1 else None
