"""The base of the assignors, which name a strategy: ottla's core has the algorithms."""

from __future__ import annotations

__all__ = ["AbstractPartitionAssignor"]


class AbstractPartitionAssignor:
    """Names how the partitions of a group are distributed.

    Attributes:
        name: the strategy's name in the group protocol.
    """

    name: str
