"""Judges whether a process grows: the median of the last fifth of its samples against the second's.

The first fifth is warm-up: caches and pools fill, and allocators reach their steady size. Medians
leave out what a fault causes for some seconds. A leak of any steady rate moves the last median by
three fifths of what it adds over the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tests.soak.sampling import Sample

_FEWEST = 3
"""Samples of a fifth: fewer say nothing."""


@dataclass(frozen=True)
class Bound:
    """How much a median may move: this many, or this part of the earlier median if that is more."""

    amount: float
    part: float = 0.0

    def of(self, before: float) -> float:
        """Return the bound for an earlier median."""
        return max(self.amount, self.part * before)


MEMORY = Bound(4.0, 0.04)
"""MiB. `short_lived` goes up and down between 24 and 28, the others move by less than 2."""
MEMORY_OF_A_JVM = Bound(64.0)
"""MiB. Spark's heap is full from the start; compiled code and classes came to 60 in 5 minutes."""
DESCRIPTORS = Bound(4, 0.1)
THREADS = Bound(2, 0.1)


@dataclass(frozen=True)
class Growth:
    """A series before and after."""

    process: str
    what: str
    before: float
    after: float
    bound: float

    @property
    def is_too_much(self) -> bool:
        """Whether it grew by more than its bound."""
        return self.after - self.before > self.bound

    def __str__(self) -> str:
        return (
            f"{self.process}: {self.what} grew from {self.before:.1f} to {self.after:.1f},"
            f" by more than {self.bound:.1f}"
        )


def growth_of(
    process: str, samples: Sequence[Sample], seconds: float, bounds: Mapping[str, Bound]
) -> list[Growth]:
    """Return the growth of each kind of a process.

    Raises:
        ValueError: a fifth has fewer than three samples.
    """
    fifths = [
        [
            each
            for each in samples
            if place * seconds / 5 <= each.seconds < (place + 1) * seconds / 5
        ]
        for place in range(5)
    ]
    if min(len(fifths[1]), len(fifths[4])) < _FEWEST:
        raise ValueError(f"{process}: there are too few samples to judge whether it grows")
    found = []
    for field, bound in bounds.items():
        before, after = (
            float(median(getattr(each, field) for each in fifths[place])) for place in (1, 4)
        )
        found.append(Growth(process, field, before, after, bound.of(before)))
    return found
