"""Rebalances: calls the application's callbacks, and does what they leave undone.

Invariants: callbacks run on the thread that polls; before partitions are given up, their stored
offsets are committed, after the callback; lost partitions are never committed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka._assignment import Assignment
from ottla.compat.confluent_kafka._commits import Commits
from ottla.compat.confluent_kafka._partitions import Key, listed

RebalanceCallback = Callable[[Any, list[Any]], object]


class Rebalances:
    """The rebalances of one subscription.

    Args:
        owner: the consumer that callbacks get.
        assignment: its assignment.
        commits: its commits.
        on_assign: called with partitions that were assigned.
        on_revoke: called with partitions that are about to be given up.
        on_lost: called with partitions that another member may own already; None for
            ``on_revoke``.
    """

    def __init__(
        self,
        owner: Callable[[], Any],
        assignment: Assignment,
        commits: Commits,
        on_assign: RebalanceCallback | None,
        on_revoke: RebalanceCallback | None,
        on_lost: RebalanceCallback | None,
    ) -> None:
        self._owner = owner
        self._assignment = assignment
        self._commits = commits
        self._on_assign = on_assign
        self._on_revoke = on_revoke
        self._on_lost = on_revoke if on_lost is None else on_lost
        self.count = 0

    def assigned(self, _consumer: object, keys: list[Key]) -> None:
        """Take over partitions of the group."""
        self.count += 1
        self._assignment.taken_over(keys)
        self._call(self._on_assign, keys)

    def revoked(self, _consumer: object, keys: list[Key]) -> None:
        """Give partitions up."""
        try:
            self._call(self._on_revoke, keys)
        finally:
            self._commits.commit_before_giving_up(keys)
            self._assignment.forget(keys)

    def lost(self, _consumer: object, keys: list[Key]) -> None:
        """Forget partitions that the group has taken away."""
        try:
            self._call(self._on_lost, keys)
        finally:
            self._assignment.forget(keys)

    def _call(self, callback: RebalanceCallback | None, keys: list[Key]) -> None:
        if callback is None:
            return
        self._assignment.in_callback = True
        try:
            callback(self._owner(), listed(keys))
        finally:
            self._assignment.in_callback = False
