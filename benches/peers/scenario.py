"""The scenarios of `run.py`, and the interface of a client's module.

A client is a module with a `NAME` and a list of `PROFILES`: its calls and tunings. Each run is
its own process, whose CPU seconds are counted. All clients consume the same topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    """One value size, and the number of records."""

    value_bytes: int
    records: int
    partitions: int = 6

    @property
    def name(self) -> str:
        return f"{self.value_bytes} B"

    def values(self, count: int = 10_000) -> list[bytes]:
        """Return distinct values that barely compress, to be sent repeatedly."""
        import random

        source = random.Random(self.value_bytes)
        return [source.randbytes(self.value_bytes) for _ in range(count)]


@dataclass(frozen=True)
class Job:
    """One run: a scenario on a topic of a cluster."""

    bootstrap: str
    topic: str
    scenario: Scenario


@dataclass(frozen=True)
class Profile:
    """One tuning of a client: its name in the table, and its function."""

    name: str
    consume: Callable[[Job], int]


@dataclass(frozen=True)
class Result:
    """The measurements of one run."""

    client: str
    profile: str
    value_bytes: int
    records: int
    seconds: float
    cpu_seconds: float

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        return self.records_per_second * self.value_bytes / 1e6

    @property
    def cpu_per_million(self) -> float:
        return self.cpu_seconds / self.records * 1e6

    @property
    def summary(self) -> str:
        return (
            f"{self.client} ({self.profile}) {self.value_bytes} B: "
            f"{self.records_per_second:,.0f} records/s, {self.cpu_per_million:.2f} CPU s/M"
        )

    def as_json(self) -> Mapping[str, object]:
        return {
            **self.__dict__,
            "records_per_second": round(self.records_per_second),
            "megabytes_per_second": round(self.megabytes_per_second, 1),
            "cpu_seconds_per_million": round(self.cpu_per_million, 3),
        }


def chunks(values: list[bytes], total: int) -> list[list[bytes]]:
    """Return `total` values, repeated, as lists."""
    whole, rest = divmod(total, len(values))
    return [values] * whole + ([values[:rest]] if rest else [])
