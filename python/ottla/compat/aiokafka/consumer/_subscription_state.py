"""What a consumer subscribes to, and which partitions it has; no I/O.

Invariant: ``assignment`` is None from the beginning of a rebalance to its end, and a future of
``wait_for_assignment`` is done only while it is not.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ottla.compat.aiokafka.abc import ConsumerRebalanceListener
from ottla.compat.aiokafka.errors import IllegalStateError
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["Subscription", "SubscriptionState"]

_EXCLUSIVE = (
    "topics, a pattern and assigned partitions are mutually exclusive: call unsubscribe() first"
)


@dataclass(eq=False)
class Subscription:
    """A subscription to topics or a pattern, or a list of partitions."""

    topics: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    listener: ConsumerRebalanceListener | None = None
    # Whether the application assigns the partitions.
    is_manual: bool = False
    assignment: frozenset[TopicPartition] | None = None

    @property
    def kind(self) -> str:
        """Which of the exclusive ways the application has chosen."""
        if self.is_manual:
            return "partitions"
        return "topics" if self.pattern is None else "pattern"


class SubscriptionState:
    """The current subscription, and futures for those that wait for its assignment."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.subscription: Subscription | None = None
        self._change = loop.create_future()

    @property
    def topics(self) -> frozenset[str]:
        """The topics of the subscription; empty without one."""
        return self.subscription.topics if self.subscription else frozenset()

    @property
    def assignment(self) -> frozenset[TopicPartition] | None:
        """The assigned partitions; None without a subscription and during a rebalance."""
        return self.subscription.assignment if self.subscription else None

    def assigned_partitions(self) -> set[TopicPartition]:
        """Return the assigned partitions."""
        return set(self.assignment or ())

    def is_assigned(self, partition: TopicPartition) -> bool:
        """Return whether a partition is assigned."""
        return partition in (self.assignment or ())

    def change(self, subscription: Subscription | None) -> None:
        """Replace the subscription.

        Raises:
            IllegalStateError: it is of another kind than the current one.
        """
        current = self.subscription
        if current is not None and subscription is not None and current.kind != subscription.kind:
            raise IllegalStateError(_EXCLUSIVE)
        self.subscription = subscription
        self.notify()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over an assignment, unless there is no subscription any more."""
        if self.subscription is not None:
            self.subscription.assignment = frozenset(partitions)
            self.notify()

    def revoke(self) -> None:
        """Begin a rebalance: nothing is assigned until its end."""
        if self.subscription is not None:
            self.subscription.assignment = None
            self.notify()

    def notify(self) -> None:
        """Complete the future of ``changed``."""
        change, self._change = self._change, self._loop.create_future()
        change.set_result(None)

    def changed(self) -> asyncio.Future[None]:
        """Return a future of the next change of the subscription or the assignment."""
        return self._change

    async def wait_for_assignment(self) -> None:
        """Wait until partitions are assigned, or there is no subscription any more."""
        while self.subscription is not None and self.assignment is None:
            await asyncio.shield(self._change)
