"""The metrics of a processor: their type, and the counts that they are made of.

Invariant: what became of a record is counted once that is certain: with a transaction, when it has
committed. Calls of the handler are counted as they are made.
"""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["NOTHING", "Count", "Counts", "ProcessingMetrics"]

ProcessingMetrics = TypedDict(
    "ProcessingMetrics",
    {
        "record-attempt-total": float,
        "record-success-total": float,
        "record-failure-total": float,
        "record-retry-total": float,
        "record-dead-letter-total": float,
        "records-waiting": float,
        "partitions-blocked": float,
        "retry-wait-time-seconds": float,
        "handler-call-total": float,
        "handler-time-seconds-total": float,
        "transaction-abort-total": float,
    },
)

ProcessingMetrics.__doc__ = """The metrics of a processor: ``Processor.metrics()``.

Keys:
    record-attempt-total: records that the handler was called with, each time.
    record-success-total: records that the handler has handled.
    record-failure-total: records that failed, each time.
    record-retry-total: records that failed and wait for another attempt.
    record-dead-letter-total: records that were written to a topic of dead letters.
    records-waiting: records of this process's partitions that wait for another attempt.
    partitions-blocked: partitions of this process that stop until a record's next attempt.
    retry-wait-time-seconds: seconds until the next attempt of a record that was read; 0 for none.
    handler-call-total: calls of the handler.
    handler-time-seconds-total: seconds that the handler has taken.
    transaction-abort-total: transactions that failed and were repeated.
"""

Count = Literal["attempt", "success", "failure", "retry", "dead-letter"]


class Counts:
    """The counts of one run; read from any thread."""

    def __init__(self) -> None:
        self._total: dict[Count, int] = {}
        self._uncertain: dict[Count, int] = {}
        self.calls = 0
        self.seconds = 0.0
        self.aborted = 0

    def called(self, records: int, seconds: float) -> None:
        """Count a call of the handler."""
        self.calls += 1
        self.seconds += seconds
        self._add(self._total, "attempt", records)

    def add(self, name: Count, records: int = 1) -> None:
        """Count what becomes of records, once it is settled."""
        self._add(self._uncertain, name, records)

    def settle(self) -> dict[Count, int]:
        """Count what was added since the last time, which is certain now, and return it."""
        settled, self._uncertain = self._uncertain, {}
        for name, count in settled.items():
            self._add(self._total, name, count)
        return settled

    def drop(self) -> None:
        """Forget what was added since the last time: its transaction was aborted."""
        self._uncertain = {}

    def metrics(self, waiting: int, blocked: int, wait_time: float) -> ProcessingMetrics:
        """Return the metrics, given those that are not counts."""
        return {
            "record-attempt-total": float(self._total.get("attempt", 0)),
            "record-success-total": float(self._total.get("success", 0)),
            "record-failure-total": float(self._total.get("failure", 0)),
            "record-retry-total": float(self._total.get("retry", 0)),
            "record-dead-letter-total": float(self._total.get("dead-letter", 0)),
            "records-waiting": float(waiting),
            "partitions-blocked": float(blocked),
            "retry-wait-time-seconds": wait_time,
            "handler-call-total": float(self.calls),
            "handler-time-seconds-total": self.seconds,
            "transaction-abort-total": float(self.aborted),
        }

    @staticmethod
    def _add(counts: dict[Count, int], name: Count, number: int) -> None:
        counts[name] = counts.get(name, 0) + number


NOTHING = Counts().metrics(0, 0, 0.0)
"""The metrics before anything was processed."""
