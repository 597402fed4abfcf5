"""A started consumer: its core, the tasks around it, and how a subscription reaches the core.

``_topic_watch`` follows a pattern; all else is the core's business. Invariants: no task refers to
the ``AIOKafkaConsumer``, which can be collected and then warns; the core subscribes or assigns what
``subscription`` says, at the latest after a look-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from ottla import AsyncConsumer
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.consumer._auto_commit import AutoCommit
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._fetcher import Fetcher
from ottla.compat.aiokafka.consumer._held_records import HeldRecords
from ottla.compat.aiokafka.consumer._options import ConsumerOptions
from ottla.compat.aiokafka.consumer._rebalances import Rebalances
from ottla.compat.aiokafka.consumer._records import Deserialize
from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState
from ottla.compat.aiokafka.consumer._topic_watch import TopicWatch
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["Membership"]

# For how long `start` waits for positions, which a partition without a leader does not get.
_POSITION_SECONDS = 2.0


class Membership:
    """The parts of a consumer that exist between ``start`` and ``stop``."""

    def __init__(
        self,
        engine: AsyncConsumer,
        client: AIOKafkaClient,
        options: ConsumerOptions,
        subscription: SubscriptionState,
        deserialize: Deserialize | None,
        auto_commit_interval: float | None,
    ) -> None:
        self.engine = engine
        self._has_group = options.group_id is not None
        self._subscription = subscription
        held = HeldRecords()
        self.poll = BackgroundPoll(
            engine, held, self._is_active, options, client.options.retry_backoff_ms / 1000
        )
        self.fetcher = Fetcher(engine, self.poll, held, deserialize)
        self._auto_commit = None
        if auto_commit_interval is not None:
            self._auto_commit = AutoCommit(
                engine, self.fetcher, self.poll, subscription, auto_commit_interval
            )
        self._rebalances = Rebalances(subscription, self.fetcher, self.poll, self._auto_commit)
        self._watch = TopicWatch(client, options.exclude_internal_topics, self._on_topics)
        # The topics that the core subscribes to, or None; and whether it has partitions assigned.
        self._topics: frozenset[str] | None = None
        self._is_assigned = False

    def start(self) -> None:
        """Start the tasks, with the current subscription."""
        self.poll.start()
        if self._auto_commit is not None:
            self._auto_commit.start()
        self.apply()

    def apply(self) -> None:
        """Pass the current subscription on to the core.

        Raises:
            ValueError: a topic or a partition is invalid.
        """
        subscription = self._subscription.subscription
        if subscription is None:
            return
        try:
            if subscription.is_manual:
                self._assign(subscription.assignment or ())
                return
            self._rebalances.begin()
            is_unchanged = subscription.topics == self._topics
            if is_unchanged or subscription.pattern is not None or not self._has_group:
                # To aiokafka it is a new subscription; to the core it may be no change.
                self._leave()
            if subscription.pattern is not None:
                self._watch.start(subscription.pattern)
            else:
                self._subscribe(subscription.topics)
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    async def wait_for_assignment(self) -> None:
        """Wait until the subscription has an assignment; raise the errors of getting one."""
        state = self._subscription
        while state.subscription is not None and state.assignment is None:
            self.poll.check_error()
            change = state.changed()
            reader = asyncio.ensure_future(self.poll.wait())
            try:
                await asyncio.wait([change, reader], return_when=asyncio.FIRST_COMPLETED)
            finally:
                reader.cancel()

    async def wait_for_positions(self) -> None:
        """Wait a moment until reading begins, so that what is written from now on is read.

        Otherwise ``latest`` would mean the end of the log at some later time.
        """
        calls = [
            asyncio.ensure_future(self.engine.position(*partition, timeout=_POSITION_SECONDS))
            for partition in self._subscription.assigned_partitions()
        ]
        if calls:
            # Reading raises the errors.
            await asyncio.gather(*calls, return_exceptions=True)

    def unsubscribe(self) -> None:
        """Leave the group, and forget all partitions."""
        self._watch.stop()
        self._leave()
        self.fetcher.forget_all()
        self.fetcher.is_blocked = False
        self.poll.wake_readers()

    async def stop(self, *, commits_all: bool) -> None:
        """Commit, leave the group and close the core.

        Args:
            commits_all: whether the application has processed everything that it got.
        """
        self.poll.stop_readers()
        self._watch.stop()
        self._rebalances.is_stopping = True
        if self._auto_commit is not None:
            await self._auto_commit.stop(commits_all)
        try:
            await self.engine.close()
        except ottla_errors.KafkaError as error:
            log.warning("the consumer did not leave its group: %s", error)
        await self.poll.stop()

    def abandon(self) -> None:
        """End the tasks and the connections of a consumer that was not stopped."""
        self._watch.stop()
        self.poll.cancel()
        if self._auto_commit is not None:
            self._auto_commit.cancel()
        self.engine._abandon()  # noqa: SLF001 - the core of this class

    def _is_active(self) -> bool:
        return self._topics is not None or self._is_assigned

    def _assign(self, partitions: Iterable[TopicPartition]) -> None:
        listed = list(partitions)
        self.poll.change(lambda: self.engine.assign(listed))
        self._is_assigned = bool(listed)
        self._read(listed)

    def _read(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions from now on; those of before go on."""
        self.fetcher.keep_only(partitions)
        self.fetcher.is_blocked = False
        self.poll.wake_readers()

    def _subscribe(self, topics: frozenset[str]) -> None:
        rebalances = self._rebalances
        callbacks: dict[str, Any] = (
            {
                "on_assigned": rebalances.on_assigned,
                "on_revoked": rebalances.on_revoked,
                "on_lost": rebalances.on_lost,
            }
            if self._has_group
            else {"on_assigned": self._on_added, "on_revoked": self._on_removed}
        )
        self.poll.change(lambda: self.engine.subscribe(sorted(topics), **callbacks))
        self._topics = topics

    async def _on_added(self, engine: AsyncConsumer, added: list[tuple[str, int]]) -> None:
        """Read new partitions, too, without a group."""
        del added
        self._take_over(engine.assignment())

    async def _on_removed(self, engine: AsyncConsumer, removed: list[tuple[str, int]]) -> None:
        """Read some partitions no more, without a group."""
        self._take_over(set(engine.assignment()).difference(removed))

    def _take_over(self, partitions: Iterable[tuple[str, int]]) -> None:
        if self._rebalances.is_current():
            kept = {TopicPartition(*partition) for partition in partitions}
            self._read(kept)
            self._subscription.assign(kept)

    def _leave(self) -> None:
        if self._is_active():
            self._topics, self._is_assigned = None, False
            self.poll.leave()

    async def _on_topics(self, topics: frozenset[str]) -> None:
        """Take over the topics that match a pattern."""
        subscription = self._subscription.subscription
        if subscription is None or subscription.pattern is None:
            return
        subscription.topics = topics
        if topics:
            self._subscribe(topics)
        else:
            self._leave()
            await self._rebalances.assigned(set())
