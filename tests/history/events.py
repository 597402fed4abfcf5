"""The events of a history; one JSON object a line.

Invariant: a value is sent once in a history, so that each read names its send.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Literal

Outcome = Literal["committed", "aborted", "unknown"]
"""Whether what was sent is in the log: for sends without a transaction, acknowledged or failed."""


@dataclass(frozen=True)
class Send:
    """One record; its offset is None if no response had one."""

    partition: int
    value: str
    offset: int | None = None


@dataclass(frozen=True)
class Transaction:
    """What a producer sent at once: a transaction, or a single record without one."""

    process: str
    sends: tuple[Send, ...]
    outcome: Outcome
    kind: str = "transaction"


@dataclass(frozen=True)
class Seek:
    """A consumer continues elsewhere: it was assigned partitions, or it sought."""

    process: str
    positions: dict[int, int]
    kind: str = "seek"


@dataclass(frozen=True)
class Poll:
    """The records of one poll, as (partition, offset, value)."""

    process: str
    records: tuple[tuple[int, int, str], ...]
    kind: str = "poll"


@dataclass(frozen=True)
class End:
    """A reader has read all partitions up to these offsets, after everything else."""

    process: str
    offsets: dict[int, int]
    kind: str = "end"


Event = Transaction | Seek | Poll | End
_KINDS: dict[str, type[Event]] = {
    "transaction": Transaction,
    "seek": Seek,
    "poll": Poll,
    "end": End,
}


@dataclass
class History:
    """Events in the order in which they were recorded, by any thread."""

    events: list[Event] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, event: Event) -> None:
        """Record an event."""
        with self._lock:
            self.events.append(event)

    def to_json(self) -> str:
        """Return a line for each event."""
        return "".join(json.dumps(asdict(event)) + "\n" for event in self.events)


def from_json(text: str) -> list[Event]:
    """Return the events of ``History.to_json``."""
    return [_event(json.loads(line)) for line in text.splitlines()]


def _event(fields: dict[str, object]) -> Event:
    kind = _KINDS[str(fields["kind"])]
    for name in ("positions", "offsets"):
        # JSON has no numbers as keys.
        if isinstance(by_partition := fields.get(name), dict):
            fields[name] = {int(partition): offset for partition, offset in by_partition.items()}
    if isinstance(sends := fields.get("sends"), Iterable):
        fields["sends"] = tuple(Send(**send) for send in sends)
    if isinstance(records := fields.get("records"), Iterable):
        fields["records"] = tuple((record[0], record[1], record[2]) for record in records)
    return kind(**fields)  # type: ignore[arg-type]
