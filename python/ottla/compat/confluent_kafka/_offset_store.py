"""The offsets that a consumer has returned, stored and committed, by partition.

Invariants: an offset is stored only for a partition that is assigned; what is committed by itself
was stored before; a stored offset at or below the committed one is not committed again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import ottla
from ottla.compat.confluent_kafka._partitions import Key


@dataclass
class _Offsets:
    """The offsets of one partition; None where there is none yet."""

    position: int | None = None
    stored: ottla.OffsetAndMetadata | None = None
    committed: int | None = None


class OffsetStore:
    """The offsets of the assigned partitions. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: dict[Key, _Offsets] = {}

    def add(self, keys: Iterable[Key]) -> None:
        """Begin with partitions that were assigned."""
        with self._lock:
            for key in keys:
                self._partitions.setdefault(key, _Offsets())

    def remove(self, keys: Iterable[Key]) -> None:
        """Forget partitions that were given up or lost."""
        with self._lock:
            for key in keys:
                self._partitions.pop(key, None)

    def returned(self, key: Key, offset: int, leader_epoch: int, *, store: bool) -> None:
        """Note that a record was returned to the application."""
        with self._lock:
            found = self._partitions.setdefault(key, _Offsets())
            found.position = offset + 1
            if store:
                found.stored = ottla.OffsetAndMetadata(offset + 1, "", leader_epoch)

    def store(self, key: Key, offset: ottla.OffsetAndMetadata) -> bool:
        """Store an offset; False if the partition is not assigned."""
        with self._lock:
            found = self._partitions.get(key)
            if found is None:
                return False
            found.stored = offset
            return True

    def position(self, key: Key) -> int | None:
        """Return the offset after the last record that was returned."""
        with self._lock:
            found = self._partitions.get(key)
            return None if found is None else found.position

    def sought(self, key: Key) -> None:
        """Forget what was stored before a seek."""
        with self._lock:
            found = self._partitions.get(key)
            if found is not None:
                found.position = found.stored = None

    def committed(self, offsets: dict[Key, ottla.OffsetAndMetadata]) -> None:
        """Note that offsets were committed."""
        with self._lock:
            for key, offset in offsets.items():
                if key in self._partitions:
                    self._partitions[key].committed = offset.offset

    def to_commit(self, keys: Iterable[Key] | None = None) -> dict[Key, ottla.OffsetAndMetadata]:
        """Return what was stored and not committed yet: of some partitions, or of all."""
        with self._lock:
            wanted = self._partitions if keys is None else keys
            found = {}
            for key in wanted:
                offsets = self._partitions.get(key)
                if offsets is None or offsets.stored is None:
                    continue
                if offsets.committed is None or offsets.stored.offset > offsets.committed:
                    found[key] = offsets.stored
            return found

    def snapshot(self) -> dict[Key, tuple[int | None, int | None, int | None]]:
        """Return position, stored and committed offset by partition, for statistics."""
        with self._lock:
            return {
                key: (
                    found.position,
                    None if found.stored is None else found.stored.offset,
                    found.committed,
                )
                for key, found in self._partitions.items()
            }
