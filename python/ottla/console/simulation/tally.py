"""Counts the records of a simulation, and proves that none was lost and none was written twice.

The records of a partition are numbered in the order of sending, and read in the order of their
offsets. A missing number was lost, and a number that occurs again at a later offset was written
twice. Invariant: the memory does not grow with the number of records.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Proof:
    """The records of a simulation so far.

    Attributes:
        sent: records that ``send()`` accepted.
        acknowledged: records that a leader acknowledged.
        failed: records that were reported as failed.
        written: records in the partitions, by their end offsets.
        read: records that the consumer has read, by their offsets.
        read_again: records that it read again, from offsets that it had already read.
        missing: acknowledged records that were not read.
        twice: records that are in a partition twice.
    """

    sent: int
    acknowledged: int
    failed: int
    written: int
    read: int
    read_again: int
    missing: int
    twice: int

    @property
    def holds(self) -> bool:
        """Whether each record that was sent was written and read, once."""
        counts = {self.sent, self.acknowledged, self.written, self.read}
        return len(counts) == 1 and not (self.failed or self.missing or self.twice)

    def __str__(self) -> str:
        """Return the proof as sentences."""
        text = (
            f"{self.sent:,} records sent, {self.acknowledged:,} acknowledged, {self.written:,} "
            f"written, {self.read:,} read: "
        )
        if self.holds:
            text += "none was lost, none was written twice."
        else:
            text += f"{self.missing:,} lost, {self.twice:,} written twice, {self.failed:,} failed."
        if self.read_again:
            text += (
                f" {self.read_again:,} were delivered to the application again, because it lost "
                "its partitions before their offsets were committed: reading is at least once."
            )
        return text


class _Partition:
    def __init__(self) -> None:
        self.sent = self.acknowledged = self.failed = 0
        self.next_offset = 0
        self.last_number = -1
        self.read = self.read_again = self.skipped = self.twice = 0


class Tally:
    """Counts of each partition.

    Args:
        partitions: the number of partitions.
    """

    def __init__(self, partitions: int) -> None:
        self._lock = threading.Lock()
        self._partitions = [_Partition() for _ in range(partitions)]

    def next_number(self, partition: int) -> int:
        """Return the number of the partition's next record."""
        return self._partitions[partition].sent

    def on_sent(self, partition: int) -> None:
        """Count a record that was sent."""
        with self._lock:
            self._partitions[partition].sent += 1

    def on_delivery(self, partition: int, error: Exception | None) -> None:
        """Count a record that was acknowledged, or has failed."""
        with self._lock:
            if error is None:
                self._partitions[partition].acknowledged += 1
            else:
                self._partitions[partition].failed += 1

    def on_read(self, partition: int, offset: int, number: int) -> None:
        """Count a record that was read."""
        with self._lock:
            each = self._partitions[partition]
            if offset < each.next_offset:
                each.read_again += 1
                return
            each.next_offset = offset + 1
            each.read += 1
            if number <= each.last_number:
                each.twice += 1
                return
            each.skipped += number - each.last_number - 1
            each.last_number = number

    def position(self, partition: int) -> int:
        """Return the offset after the last record that was read."""
        return self._partitions[partition].next_offset

    def proof(self, written: int) -> Proof:
        """Return the counts.

        Args:
            written: the records in the partitions, by their end offsets.
        """
        with self._lock:

            def total(name: str) -> int:
                return sum(getattr(each, name) for each in self._partitions)

            acknowledged, read = total("acknowledged"), total("read")
            unread = max(0, acknowledged - (read - total("twice")) - total("skipped"))
            return Proof(
                sent=total("sent"),
                acknowledged=acknowledged,
                failed=total("failed"),
                written=written,
                read=read,
                read_again=total("read_again"),
                missing=unread + max(0, total("skipped") - total("failed")),
                twice=total("twice"),
            )
