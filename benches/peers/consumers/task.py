"""What each way of each client is asked to consume, and what of it is measured.

A client's file has a `NAME` and a list of `WAYS`. The clock and the CPU seconds, those of all
threads, count from the first record until all are there, so that connecting and joining do not.
"""

from __future__ import annotations

import enum
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# How many records a call is asked for: few stay in the processor's caches, many take fewer calls.
FEW = 500
MANY = 20_000


class Kind(enum.Enum):
    """What an application has in its hands."""

    ARROW = "columns"
    LIST = "lists of records"
    ASYNC = "one by one, awaited"
    ARROW_UNCHECKED = "columns, no CRCs"
    LIST_UNCHECKED = "lists of records, no CRCs"


@dataclass
class Task:
    """One run: all records of a topic, which lie in so many partitions from offset 0 on."""

    bootstrap: str
    topic: str
    partitions: int
    records: int
    value_bytes: int
    # Of the client, by Kafka's names; not all ways look at them.
    settings: dict[str, object] = field(default_factory=dict)
    received: int = 0
    size: int = 0
    # How many came before the clock ran, and what it showed.
    before: int = 0
    start: tuple[float, float] | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def begin(self) -> None:
        """Measure from now on instead of from the first records on."""
        self.start = time.perf_counter(), _cpu()

    def take(self, records: int, size: int) -> bool:
        """Count what came; says whether more is to come."""
        if self.start is None:
            self.start = time.perf_counter(), _cpu()
            self.before = records
        self.received += records
        self.size += size
        if self.received < self.records:
            return True
        clock, cpu = self.start
        self.seconds, self.cpu_seconds = time.perf_counter() - clock, _cpu() - cpu
        return False

    @property
    def measured(self) -> int:
        """How many records came while it was measured."""
        return self.received - self.before

    def check(self) -> None:
        """Fail unless each record came once."""
        if (self.received, self.size) != (self.records, self.records * self.value_bytes):
            raise SystemExit(f"{self.received} records with {self.size} bytes")
        if not self.measured:
            raise SystemExit("all came at once, before the clock ran: use a larger --scale")


@dataclass(frozen=True)
class Way:
    """A client's call, best tuned; slow ones get a share of the records."""

    name: str
    kind: Kind
    run: Callable[[Task], None]
    share: float = 1.0


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
