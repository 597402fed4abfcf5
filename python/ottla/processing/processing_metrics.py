"""The type of ``Processor.metrics()``: counts of what became of records."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["ProcessingMetrics"]

ProcessingMetrics = TypedDict(
    "ProcessingMetrics",
    {
        "record-attempt-total": float,
        "record-failure-total": float,
        "record-retry-total": float,
        "record-dead-letter-total": float,
        "records-waiting": float,
    },
)

ProcessingMetrics.__doc__ = """The metrics of a processor: ``Processor.metrics()``.

Keys:
    record-attempt-total: records that the handler was called with, each time.
    record-failure-total: records that failed, each time.
    record-retry-total: records that failed and wait for another attempt.
    record-dead-letter-total: records that were written to a topic of dead letters.
    records-waiting: records of this process's partitions that wait for another attempt.
"""
