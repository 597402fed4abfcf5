"""What a run found, as its result file, its page and its exit code have it.

Invariant: a run passed only if `problems` is empty; each is a sentence that names the part.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.soak.growth import Growth
from tests.soak.sampling import Sample

FILE = "result.json"


@dataclass
class Outcome:
    """All that a page shows."""

    date: str
    seconds: float
    """How long faults and load were on; without the start and the end."""
    parameters: dict[str, Any]
    versions: dict[str, str]
    problems: list[str] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each log, and of each part."""
    buffered: dict[str, dict[str, float]] = field(default_factory=dict)
    """The largest value of each gauge of a part."""
    close_seconds: dict[str, float] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    moments: list[tuple[float, str]] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def save(self, directory: Path) -> None:
        """Write the result file."""
        (directory / FILE).write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, directory: Path) -> Outcome:
        """Read the result file."""
        fields = json.loads((directory / FILE).read_text())
        fields["growth"] = [Growth(**each) for each in fields["growth"]]
        fields["moments"] = [(seconds, kind) for seconds, kind in fields["moments"]]
        fields["samples"] = {
            name: [Sample(*each) for each in samples] for name, samples in fields["samples"].items()
        }
        return cls(**fields)
