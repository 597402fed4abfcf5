"""What a run and its parts agree on: addresses, topics, rates and the seed.

Invariant: a part gets all of it as one argument, so that a part can be started by hand as the run
starts it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

PARTITIONS = 4
NUMBERS, COPIED, TYPED, SPARK, SHORT_LIVED = (
    f"soak-{name}" for name in ("numbers", "copied", "typed", "spark", "short-lived")
)
TOPICS = (NUMBERS, COPIED, TYPED, SPARK, SHORT_LIVED)
SHARE_GROUP = "soak-share"
COPY_GROUP = "soak-copy"
KEYS = 97


@dataclass(frozen=True)
class Settings:
    """The settings of a run, which are those of each of its parts."""

    bootstrap: str
    """The brokers' own addresses."""
    gateway: str
    """The address of the gateway that loses connections; empty for the gateway itself."""
    registry: str
    """The URL of the schema registry."""
    directory: Path
    """Where parts write their files."""
    rate: int
    """Numbers a second of the producer; the typed one sends half as many."""
    seed: int
    interval: float
    """Seconds between the reports of a part."""

    def to_json(self) -> str:
        """Return them as an argument of a part."""
        return json.dumps({**asdict(self), "directory": str(self.directory)})

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Return the settings of an argument."""
        fields = json.loads(text)
        return cls(**{**fields, "directory": Path(fields["directory"])})


def key_of(number: int) -> bytes:
    """Return the key of a number."""
    return b"key-%d" % (number % KEYS)


def value_of(number: int) -> bytes:
    """Return the value of a number: 100 bytes, as of a small event."""
    return b"%012d%s" % (number, b" soak" * 17 + b"...")


def number_of(value: bytes | None) -> int:
    """Return the number of a value; any other value is an error."""
    assert value is not None
    number = int(value[:12])
    assert value == value_of(number), value
    return number
