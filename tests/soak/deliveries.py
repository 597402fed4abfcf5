"""Judges what was acknowledged and read: nothing is lost, and nothing is stored twice.

A row of a log is a partition, an offset and a number. Groups and share groups may deliver a record
again: the same offset. The same number at another offset was stored twice, which nothing may do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.soak.parts.sharing import ACCEPTED, DELIVERED
from tests.soak.settings import KEYS

Rows = np.ndarray[Any, np.dtype[np.int64]]
_SHOWN = 5
_SLACK_MS = 500
"""A delivery is written down after its poll, an acceptance after the poll with its result."""


@dataclass
class Findings:
    """What the run says about a log: counts, and sentences about what is wrong."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def report(self, what: str, numbers: Any) -> None:
        """Count something that must not be, and report it if there is any."""
        found = np.asarray(numbers)
        self.counts[what] = len(found)
        if len(found):
            shown = ", ".join(map(str, found[:_SHOWN].tolist()))
            more = " …" if len(found) > _SHOWN else ""
            self.problems.append(f"{self.name}: {len(found)} {what}: {shown}{more}")


def check_log(name: str, expected: Rows, read: Rows, *, keyed: bool = True) -> Findings:
    """Check that a reader read each expected number, and that each is stored once.

    Args:
        name: the reader, for the sentences.
        expected: numbers; with a partition and an offset if these are known, else -1.
        read: rows in the order in which they were read.
        keyed: whether the numbers of each key must be in order.
    """
    findings = Findings(name)
    places = _places(read)
    _, first = np.unique(places, return_index=True)
    # The first time that each place was read, in the order of reading.
    once = read[np.sort(first)]
    findings.counts["expected"] = len(expected)
    findings.counts["read"] = len(once)
    findings.counts["delivered again"] = len(read) - len(once)
    numbers, copies = np.unique(once[:, 2], return_counts=True)
    findings.report("lost", np.setdiff1d(expected[:, 0], numbers))
    findings.report("stored twice", numbers[copies > 1])
    findings.report("never acknowledged", np.setdiff1d(numbers, expected[:, 0]))
    findings.report("elsewhere than acknowledged", _misplaced(expected, once))
    findings.report("read before an earlier offset", _out_of_order(once[:, 0], once[:, 1]))
    if keyed:
        stored = once[np.lexsort((once[:, 1], once[:, 0]))]
        findings.report(
            "behind a later one of their key", _out_of_order(stored[:, 2] % KEYS, stored[:, 2])
        )
    return findings


def check_share_group(name: str, expected: Rows, events: Rows) -> Findings:
    """Check that each number was delivered and accepted, and not delivered after that.

    Each delivery has at most one acceptance. Rows are those of `parts.sharing`.
    """
    findings = Findings(name)
    delivered, accepted = (events[events[:, 1] == kind] for kind in (DELIVERED, ACCEPTED))
    findings.counts["expected"] = len(expected)
    findings.counts["delivered again"] = len(delivered) - len(np.unique(_places(delivered[:, 2:])))
    findings.report("never delivered", np.setdiff1d(expected[:, 0], delivered[:, 4]))
    # The result of an acceptance may be lost with its connection: it is an error for the member.
    unconfirmed = np.setdiff1d(expected[:, 0], accepted[:, 4])
    findings.counts["accepted without a confirmation"] = len(unconfirmed)
    places, deliveries = np.unique(_places(delivered[:, 2:]), return_counts=True)
    confirmed, acceptances = np.unique(_places(accepted[:, 2:]), return_counts=True)
    of_confirmed = deliveries[np.searchsorted(places, confirmed)]
    findings.report("accepted more often than delivered", confirmed[acceptances > of_confirmed])
    last = np.zeros(len(places), dtype=np.int64)
    np.maximum.at(last, np.searchsorted(places, _places(delivered[:, 2:])), delivered[:, 0])
    _, first = np.unique(_places(accepted[:, 2:]), return_index=True)
    after = last[np.searchsorted(places, confirmed)] - accepted[first, 0]
    findings.report("delivered after they were accepted", accepted[first[after > _SLACK_MS], 4])
    return findings


def _places(rows: Rows) -> Rows:
    """Return one integer for the partition and the offset of each row."""
    return (rows[:, 0] << 48) + rows[:, 1]


def _misplaced(expected: Rows, once: Rows) -> Rows:
    if expected.shape[1] == 1 or not len(once):
        return np.empty(0, dtype=np.int64)
    known = expected[expected[:, 2] >= 0]
    order = np.argsort(_places(once))
    sorted_places = _places(once)[order]
    where = np.minimum(np.searchsorted(sorted_places, _places(known[:, 1:])), len(once) - 1)
    found = once[order][where]
    same = (sorted_places[where] == _places(known[:, 1:])) & (found[:, 2] == known[:, 0])
    # What is nowhere is lost, which is another sentence.
    return np.intersect1d(known[~same, 0], once[:, 2])


def _out_of_order(groups: Rows, values: Rows) -> Rows:
    """Return the values that come after a higher one of their group."""
    order = np.argsort(groups, kind="stable")
    groups, values = groups[order], values[order]
    behind = (groups[1:] == groups[:-1]) & (values[1:] < values[:-1])
    return np.asarray(values[1:][behind], dtype=np.int64)
