"""The task of each decoding call: all values of a topic, as Arrow arrays of structs.

The clock starts before the consumer is created, in a process that has read a part of the topic
before. The sums by which tables are compared are not counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from benches.peers.consumers.task import Task
from benches.schemas.shapes import arrow_type, avro_schema
from benches.schemas.sums import leaf_sums

# The rows that a client without columns collects for each array.
ROWS = 10_000


@dataclass
class TypedTask(Task):
    """One run: decode the values of a topic."""

    shape: str = ""
    registry: str = ""
    sums: Counter[str] = field(default_factory=Counter)

    def take_array(self, array: Any) -> bool:
        """Count decoded values; return whether more are expected."""
        clock, cpu = time.perf_counter(), time.thread_time()
        self.sums.update(leaf_sums(array))
        if self.start is not None:
            started, cpu_before = self.start
            self.start = (
                started + time.perf_counter() - clock,
                cpu_before + time.thread_time() - cpu,
            )
        return self.take(len(array), 0)


@dataclass(frozen=True)
class Call:
    """A client's call for a format."""

    client: str
    name: str
    run: Callable[[TypedTask], None]


class Rows:
    """Collects decoded records, and makes arrays of them."""

    def __init__(self, task: TypedTask, timestamp: pa.DataType | None = None) -> None:
        self._task = task
        self._type = arrow_type(avro_schema(task.shape), timestamp)
        self.records: list[Any] = []

    def take(self) -> bool:
        """Make an array if there are enough records; return whether more are expected."""
        task = self._task
        if len(self.records) < ROWS and task.received + len(self.records) < task.records:
            return True
        array, self.records = pa.array(self.records, self._type), []
        return task.take_array(array)
