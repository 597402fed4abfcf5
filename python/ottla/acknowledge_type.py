"""``AcknowledgeType``: what becomes of a record that a share consumer has received.

Invariant: the numbers are those of Kafka's protocol (KIP-932, KIP-1222).
"""

from __future__ import annotations

import enum

__all__ = ["AcknowledgeType"]


class AcknowledgeType(enum.IntEnum):
    """What becomes of a record that a share consumer has received (KIP-932)."""

    ACCEPT = 1
    """The record was processed."""
    RELEASE = 2
    """It was not processed, and may be delivered again, to any member of the group."""
    REJECT = 3
    """It cannot be processed, and is not delivered again."""
    RENEW = 4
    """It needs more time: its lock starts anew, and the next poll returns it again (KIP-1222)."""
