"""Follows the topics that match a pattern.

A pattern is one of Python's and matches the beginning of a name, so it is matched here and not by
the core. Invariant: topics that appear later are found within ``metadata_max_age_ms``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

from ottla.compat.aiokafka.client import AIOKafkaClient

__all__ = ["TopicWatch"]


class TopicWatch:
    """The task that looks up the topics again and again."""

    def __init__(
        self,
        client: AIOKafkaClient,
        excludes_internal: bool,
        on_change: Callable[[frozenset[str]], Awaitable[None]],
    ) -> None:
        """Begin without a task; see ``start``.

        Args:
            client: looks up the metadata.
            excludes_internal: whether a pattern matches none of Kafka's own topics.
            on_change: called with the topics that match: the first ones, and after each change.
        """
        self._client = client
        self._excludes_internal = excludes_internal
        self._on_change = on_change
        self._interval = client.options.metadata_max_age_ms / 1000
        self._task: asyncio.Task[None] | None = None

    def start(self, pattern: re.Pattern[str]) -> None:
        """Begin to follow a pattern."""
        self.stop()
        self._task = asyncio.get_running_loop().create_task(self._run(pattern))

    def stop(self) -> None:
        """End the task."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()
        self._task = None

    async def _run(self, pattern: re.Pattern[str]) -> None:
        known: frozenset[str] | None = None
        while True:
            if await self._client.update(None, refresh=True):
                names = self._client.cluster.topics(self._excludes_internal)
                topics = frozenset(filter(pattern.match, names))
                if topics != known:
                    known = topics
                    await self._on_change(topics)
            await asyncio.sleep(self._interval)
