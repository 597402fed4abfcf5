"""Records what the sources of query engines scan: the ranges and the columns of each scan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from ottla._core import Scan
from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.pinned_read import PinnedRead

Ranges = list[tuple[str, int, int, int]]


@dataclass
class Scans:
    """The scans since the last call of ``take``."""

    ranges: Ranges = field(default_factory=list)
    columns: list[list[str]] = field(default_factory=list)

    def take(self) -> Ranges:
        """Return the ranges, sorted, and forget them."""
        found, self.ranges, self.columns = sorted(self.ranges), [], []
        return found

    def offsets(self) -> int:
        """Return the number of offsets, and forget the ranges."""
        return sum(end - start for _, _, start, end in self.take())


def record_scans(monkeypatch: pytest.MonkeyPatch) -> Scans:
    """Return what scans read from now on."""
    scans, original = Scans(), PinnedRead.scan

    def scan(
        self: PinnedRead,
        ranges: Iterable[OffsetRange],
        wanted: Iterable[str] | None = None,
        fields: Sequence[str] | None = None,
    ) -> Scan:
        parts = list(ranges)
        started = original(self, parts, wanted, fields)
        scans.ranges += [one.bounds for one in parts]
        scans.columns.append(started.column_names)
        return started

    monkeypatch.setattr(PinnedRead, "scan", scan)
    return scans
