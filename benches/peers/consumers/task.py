"""The task of each consuming call, and its measurement.

A client's file has a `NAME` and a list of `CALLS`. Wall time and the CPU seconds of all threads
are counted from the first records until all are received: connecting and joining are not
included.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# The records requested per call: few stay in the CPU's caches, many take fewer calls.
FEW = 500
MANY = 20_000


class Kind(enum.Enum):
    """The form in which an application receives records."""

    ARROW = "columns"
    LIST = "lists of records"
    ASYNC = "one by one, awaited"
    ARROW_UNCHECKED = "columns, no CRCs"
    LIST_UNCHECKED = "lists of records, no CRCs"
    BYTES = "bytes alone"


@dataclass
class Task:
    """One run: consume all records of a topic, from offset 0 of each partition on."""

    bootstrap: str
    topic: str
    partitions: int
    records: int
    value_bytes: int
    # The client's settings, by Kafka's names; not all calls use them.
    settings: dict[str, object] = field(default_factory=dict)
    received: int = 0
    size: int = 0
    # The records received before the clock started, and the clock's start.
    before: int = 0
    start: tuple[float, float] | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def begin(self) -> None:
        """Start the clock now instead of at the first records."""
        self.start = time.perf_counter(), time.process_time()

    def take(self, records: int, size: int) -> bool:
        """Count received records; return whether more are expected."""
        if self.start is None:
            self.start = time.perf_counter(), time.process_time()
            self.before = records
        self.received += records
        self.size += size
        if self.received < self.records:
            return True
        clock, cpu = self.start
        self.seconds, self.cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
        return False

    @property
    def measured(self) -> int:
        """The number of records received while the clock ran."""
        return self.received - self.before

    def check(self) -> None:
        """Fail unless every record was received once."""
        if (self.received, self.size) != (self.records, self.records * self.value_bytes):
            raise SystemExit(f"{self.received} records with {self.size} bytes")
        if not self.measured:
            raise SystemExit("all records came in the first call: use a larger --scale")


@dataclass(frozen=True)
class Call:
    """A client's call, tuned for speed; slow ones get a share of the records."""

    name: str
    kind: Kind
    run: Callable[[Task], None]
    share: float = 1.0
