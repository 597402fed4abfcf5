"""Reads what `plugins/peer_results.py` wrote, and stores the outcomes of a suite."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.peer_suites.comparison import CRASHED, MISSING, Comparison, compare
from tests.peer_suites.suite import Difference


@dataclass
class Read:
    """The results of a run.

    Attributes:
        collected: the tests that were collected.
        outcomes: the outcomes; a test that started and did not end has crashed.
        details: the first line of each failure.
    """

    collected: list[str] = field(default_factory=list)
    outcomes: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all collected tests have outcomes.

        Not so if a test ends the process or, by a SIGINT of its own that comes too late, pytest.
        """
        return all(test in self.outcomes for test in self.collected)

    @property
    def all_outcomes(self) -> dict[str, str]:
        """The outcomes, and `MISSING` for tests that never started."""
        return {**dict.fromkeys(self.collected, MISSING), **self.outcomes}


def read(file: Path) -> Read:
    """Read the file of a run, which ends anywhere if the process ended."""
    found = Read()
    running: str | None = None
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            document = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "collected" in document:
            # The process before this one ended in a test.
            _crashed(found, running)
            running = None
            # A run that goes on does not collect what ran before.
            found.collected += [t for t in document["collected"] if t not in found.collected]
        elif "started" in document:
            running = document["started"]
        elif "test" in document:
            running = None
            found.outcomes[document["test"]] = document["outcome"]
            if document.get("detail"):
                found.details[document["test"]] = document["detail"]
    _crashed(found, running)
    return found


@dataclass(frozen=True)
class Stored:
    """The outcomes of a suite with both, after tests that failed have run again.

    Attributes:
        ran: the date.
    """

    control: Mapping[str, str]
    ours: Mapping[str, str]
    unstable: Mapping[str, str]
    ran: str

    def write(self, file: Path) -> None:
        """Write them as JSON."""
        file.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, file: Path) -> Stored:
        """Read what `write` wrote."""
        return cls(**json.loads(file.read_text()))

    def compare(self, expected: Mapping[str, Difference]) -> Comparison:
        """Return the comparison."""
        return compare(self.control, self.ours, expected, self.unstable, self.ran)


def _crashed(found: Read, running: str | None) -> None:
    if running is not None:
        found.outcomes[running] = CRASHED
