"""``AcknowledgeType``: how a share consumer acknowledges the delivery of a record.

Invariant: the numbers are those of Kafka's protocol (KIP-932, KIP-1222).
"""

from __future__ import annotations

import enum

__all__ = ["AcknowledgeType"]


class AcknowledgeType(enum.IntEnum):
    """How a share consumer acknowledges the delivery of a record (KIP-932)."""

    ACCEPT = 1
    """The record was consumed successfully."""
    RELEASE = 2
    """The record was not consumed successfully. Release it for another delivery attempt, to any
    member of the group."""
    REJECT = 3
    """The record was not consumed successfully. Reject it and do not release it for another
    delivery attempt."""
    RENEW = 4
    """The record is still being processed. Renew its acquisition lock; the next poll returns it
    again (KIP-1222)."""
