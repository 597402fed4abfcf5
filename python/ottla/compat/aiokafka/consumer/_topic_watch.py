"""Follows the topics of a pattern, or of a consumer without a group.

A pattern is one of Python's, so it is matched here and not by the core. A consumer without a group
reads all partitions. Invariant: topics and partitions that appear later are found within
``metadata_max_age_ms``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["TopicWatch"]


class TopicWatch:
    """The task that looks up the topics again and again."""

    def __init__(
        self,
        client: AIOKafkaClient,
        subscription: SubscriptionState,
        excludes_internal: bool,
        on_change: Callable[[frozenset[str], set[TopicPartition]], Awaitable[None]],
    ) -> None:
        """Begin without a task; see ``start``.

        Args:
            client: looks up the metadata.
            subscription: what the consumer subscribes to.
            excludes_internal: whether a pattern matches none of Kafka's own topics.
            on_change: called with the topics and all of their partitions, if they have changed.
        """
        self._client = client
        self._subscription = subscription
        self._excludes_internal = excludes_internal
        self._on_change = on_change
        self._interval = client.options.metadata_max_age_ms / 1000
        self._known: tuple[frozenset[str], set[TopicPartition]] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow the subscription, from anew if it has changed."""
        self.stop()
        self._known = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """End the task."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        self._task = None

    async def look(self) -> None:
        """Look up the topics now."""
        subscription = self._subscription.subscription
        if subscription is None or subscription.is_manual:
            return
        cluster = self._client.cluster
        if subscription.pattern is None:
            for topic in subscription.topics:
                self._client._topics.add(topic)  # noqa: SLF001 - the consumer's own client
            if not await self._client.update(subscription.topics, refresh=True):
                return
            topics = subscription.topics
        else:
            if not await self._client.update(None, refresh=True):
                return
            matches = subscription.pattern.match
            topics = frozenset(filter(matches, cluster.topics(self._excludes_internal)))
        partitions = {
            TopicPartition(topic, number)
            for topic in topics
            for number in cluster.partitions_for_topic(topic) or ()
        }
        if subscription is self._subscription.subscription and (topics, partitions) != self._known:
            self._known = topics, partitions
            await self._on_change(topics, partitions)

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._interval)
