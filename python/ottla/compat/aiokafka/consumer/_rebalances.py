"""What happens in a consumer when its group rebalances, in aiokafka's order.

Revocation: reading stops, positions are committed, the listener gives up all partitions.
Assignment: the listener takes over the new ones, reading goes on. Invariants: the listener's
``on_partitions_revoked`` comes before each ``on_partitions_assigned``, first with an empty set; its
exceptions are logged and do not stop the rebalance.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka.consumer._auto_commit import AutoCommit
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._fetcher import Fetcher
from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["Rebalances"]


class Rebalances:
    """The callbacks of a consumer's subscription."""

    def __init__(
        self,
        subscription: SubscriptionState,
        fetcher: Fetcher,
        poll: BackgroundPoll,
        auto_commit: AutoCommit | None,
    ) -> None:
        self._subscription = subscription
        self._fetcher = fetcher
        self._poll = poll
        self._auto_commit = auto_commit
        # What the listener has to give up, also after the assignment is void.
        self._owned: set[TopicPartition] = set()
        self._is_revoked = False
        self.is_stopping = False

    def begin(self) -> None:
        """Stop reading, because the subscription has changed."""
        self._fetcher.is_blocked = True
        self._subscription.revoke()

    def is_current(self) -> bool:
        """Return whether a change in the core concerns the current subscription."""
        subscription = self._subscription.subscription
        return not (self.is_stopping or subscription is None or subscription.is_manual)

    async def on_revoked(self, engine: object, partitions: list[tuple[str, int]]) -> None:
        """Give up all partitions, in time to commit."""
        del engine, partitions
        await self._revoke(commits=True)

    async def on_lost(self, engine: object, partitions: list[tuple[str, int]]) -> None:
        """Take note that other members may have the partitions already."""
        del engine, partitions
        await self._revoke(commits=False)

    async def on_assigned(self, engine: Any, partitions: list[tuple[str, int]]) -> None:
        """Take over the new assignment."""
        del partitions
        if not self.is_current():
            return
        await self.assigned({TopicPartition(*item) for item in engine.assignment()})

    async def assigned(self, partitions: set[TopicPartition]) -> None:
        """Take over an assignment, after a revocation if there was none."""
        if not self._is_revoked:
            await self._revoke(commits=False)
        self._is_revoked = False
        self._fetcher.forget_all()
        self._owned = set(partitions)
        subscription = self._subscription.subscription
        if subscription is None:
            return
        self._subscription.assign(partitions)
        if subscription.listener is not None:
            await _call(subscription.listener.on_partitions_assigned, set(partitions))
        self._fetcher.is_blocked = False
        self._poll.wake_readers()

    async def _revoke(self, *, commits: bool) -> None:
        if not self.is_current():
            return
        self._fetcher.is_blocked = True
        if commits and self._auto_commit is not None and self._subscription.assignment:
            await self._auto_commit.commit(includes_in_process=True)
        subscription = self._subscription.subscription
        if subscription is not None and subscription.listener is not None and not self._is_revoked:
            await _call(subscription.listener.on_partitions_revoked, set(self._owned))
        self._is_revoked = True
        self._owned = set()
        self._fetcher.forget_all()
        if self._auto_commit is not None:
            self._auto_commit.forget()
        self._subscription.revoke()


async def _call(
    method: Callable[[set[TopicPartition]], Any], partitions: set[TopicPartition]
) -> None:
    try:
        result = method(partitions)
        if inspect.isawaitable(result):
            await result
    except asyncio.CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the application's, which must not stop the rebalance
        log.exception("the rebalance listener failed with %s", sorted(partitions))
