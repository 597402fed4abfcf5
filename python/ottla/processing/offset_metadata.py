"""Attempts of a record that waits in its partition, in the metadata of the committed offset.

Invariant: metadata that anybody else wrote, or that says nothing of use, stands for no attempts.
"""

from __future__ import annotations

import json
import math
import time

from ottla._core import OffsetAndMetadata
from ottla.processing.held_records import Item

__all__ = ["offset_after", "offset_of_waiting", "read_attempts"]


def offset_after(item: Item) -> OffsetAndMetadata:
    """Return the offset to commit once a record is done."""
    return OffsetAndMetadata(item.polled.offset + 1, "", item.polled.leader_epoch)


def offset_of_waiting(offset: int, attempts: int, delay: float) -> OffsetAndMetadata:
    """Return the offset to commit while its record waits for another attempt.

    Args:
        offset: the record's offset.
        attempts: how often it failed.
        delay: the seconds until the next attempt.
    """
    at = round((time.time() + delay) * 1000)
    return OffsetAndMetadata(
        offset, json.dumps({"ottla.processing": {"attempts": attempts, "at": at}})
    )


def read_attempts(text: str | None) -> tuple[int, float]:
    """Return the attempts and the seconds to wait of a committed offset; 0 if it has none."""
    try:
        found = json.loads(text or "null")["ottla.processing"]
        attempts, seconds = int(found["attempts"]), found["at"] / 1000 - time.time()
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return 0, 0.0
    # A time that is no number would never come.
    return (attempts, seconds) if attempts > 0 and math.isfinite(seconds) else (0, 0.0)
