"""The calls that wait for records, and for which partitions' records; they never wait here.

Invariant: waking a reader removes it, so that each wait ends once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["Reader", "WaitingReaders", "complete"]


def complete(future: asyncio.Future[None] | None) -> None:
    """End the wait for a future, if there is one that is not done."""
    if future is not None and not future.done():
        future.set_result(None)


@dataclass(eq=False)
class Reader:
    """A call that waits.

    Attributes:
        done: completes when it should look again.
        partitions: the partitions whose records it waits for: empty for all, None for no records.
        is_brief: whether it waits only for records that have arrived.
    """

    done: asyncio.Future[None]
    partitions: Collection[tuple[str, int]] | None
    is_brief: bool

    def is_served_by(self, polled: set[tuple[str, int]] | None) -> bool:
        """Whether a poll of some partitions, or of all, returns what this waits for."""
        if polled is None or self.partitions is None:
            return True
        return bool(self.partitions) and polled.issuperset(self.partitions)


class WaitingReaders:
    """All readers that wait."""

    def __init__(self) -> None:
        self._readers: set[Reader] = set()

    def __bool__(self) -> bool:
        return bool(self._readers)

    def add(self, reader: Reader) -> None:
        """Let a reader wait."""
        self._readers.add(reader)

    def remove(self, reader: Reader) -> None:
        """End a reader's wait, if it was not woken."""
        self._readers.discard(reader)

    def wake(self) -> None:
        """Let all readers look again."""
        readers, self._readers = self._readers, set()
        for reader in readers:
            complete(reader.done)

    def have_brief(self) -> bool:
        """Return whether one of them waits only for records that have arrived."""
        return any(reader.is_brief for reader in self._readers)

    def partitions(self) -> set[tuple[str, int]] | None:
        """Return the partitions whose records they wait for; None for all."""
        wanted: set[tuple[str, int]] = set()
        for reader in self._readers:
            if reader.partitions is not None:
                if not reader.partitions:
                    return None
                wanted.update(reader.partitions)
        return wanted
