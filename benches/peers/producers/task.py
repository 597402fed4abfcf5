"""The task of each producing call, and its measurement."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

BATCH_SIZE = 1_000_000
LINGER_MS = 5
# The records in one list, one Arrow array, or one group of futures.
AT_ONCE = 10_000

_WORDS = 400


class Kind(Enum):
    """The kinds of calls, compared with each other."""

    ARROW = "Arrow"
    LIST = "list"
    RECORD = "record by record"
    FUTURES = "10,000 futures awaited"
    TASKS = "10,000 tasks awaited"
    BYTES = "bytes alone"


def values(size: int, count: int = AT_ONCE) -> list[bytes]:
    """Return distinct typical events: JSON of exactly this size, with words and numbers."""
    source = random.Random(size)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(3, 9))) for _ in range(_WORDS)]
    made = []
    for number in range(count):
        head = f'{{"id":"{source.getrandbits(64):016x}","user":{source.randrange(10**6)}'
        price, at = source.randrange(10**5) / 100, 1_700_000_000_000 + number * 7
        head += f',"price":{price},"at":{at},"text":"'
        text = ""
        while len(head) + len(text) < size:
            text += source.choice(words) + " "
        made.append((head + text)[: size - 2].encode() + b'"}')
    return made


@dataclass
class Task:
    """One run: produce values of this size to an existing topic; holds the measurements."""

    bootstrap: str
    topic: str
    value_bytes: int
    records: int
    compression: str
    seconds: float = field(default=0.0, init=False)
    cpu_seconds: float = field(default=0.0, init=False)

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield the values repeatedly, one list at a time."""
        some = values(self.value_bytes)
        for _ in range(self.records // AT_ONCE):
            yield some

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the whole process; the client is connected and has written one record."""
        cpu, clock = time.process_time(), time.perf_counter()
        yield
        self.seconds, self.cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu


@dataclass(frozen=True)
class Call:
    """A call of a client."""

    name: str
    kind: Kind
    run: Callable[[Task], None]
    # The share of the scenario's records: slow calls are measured on fewer.
    share: float = 1.0
    codecs: tuple[str, ...] = ("none", "lz4", "zstd")
