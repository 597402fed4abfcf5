"""A started consumer: its core, the tasks around it, and how a subscription reaches the core.

Topics of a group are the core's business. A pattern, or topics without a group, are followed by
``_topic_watch``. Invariants: no task refers to the ``AIOKafkaConsumer``, which can be collected and
then warns; the core subscribes or assigns what ``subscription`` says, at the latest after a
look-up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ottla import AsyncConsumer
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.consumer._auto_commit import AutoCommit
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._fetcher import Fetcher
from ottla.compat.aiokafka.consumer._options import ConsumerOptions
from ottla.compat.aiokafka.consumer._rebalances import Rebalances
from ottla.compat.aiokafka.consumer._records import Converter
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
        convert: Converter,
        auto_commit_interval: float | None,
    ) -> None:
        self.engine = engine
        self._has_group = options.group_id is not None
        self._subscription = subscription
        self.poll = BackgroundPoll(
            engine,
            self._is_active,
            client.options.retry_backoff_ms / 1000,
            options.idle_limit,
        )
        self.fetcher = Fetcher(engine, self.poll, convert)
        self._auto_commit = None
        if auto_commit_interval is not None:
            self._auto_commit = AutoCommit(
                engine, self.fetcher, self.poll, subscription, auto_commit_interval
            )
        self._rebalances = Rebalances(subscription, self.fetcher, self.poll, self._auto_commit)
        self._watch = TopicWatch(
            client, subscription, options.exclude_internal_topics, self._on_topics
        )
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
            elif subscription.pattern is not None or not self._has_group:
                self._rebalances.begin()
                self._watch.start()
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
        """End the tasks of a consumer that was not stopped."""
        self._watch.stop()
        self.poll.cancel()
        if self._auto_commit is not None:
            self._auto_commit.cancel()

    def _is_active(self) -> bool:
        return self._topics is not None or self._is_assigned

    def _assign(self, partitions: Iterable[TopicPartition]) -> None:
        listed = list(partitions)
        self.poll.change(lambda: self.engine.assign(listed))
        self._is_assigned = bool(listed)
        self.fetcher.keep_only(listed)
        self.fetcher.is_blocked = False
        self.poll.wake_readers()

    def _subscribe(self, topics: frozenset[str]) -> None:
        if topics == self._topics:
            # To the core this is no change; to aiokafka it is a new subscription.
            self._leave()
        self._rebalances.begin()
        self.poll.change(
            lambda: self.engine.subscribe(
                sorted(topics),
                on_assigned=self._rebalances.on_assigned,
                on_revoked=self._rebalances.on_revoked,
                on_lost=self._rebalances.on_lost,
            )
        )
        self._topics = topics

    def _leave(self) -> None:
        if self._is_active():
            self._topics, self._is_assigned = None, False
            self.poll.leave()

    async def _on_topics(self, topics: frozenset[str], partitions: set[TopicPartition]) -> None:
        """Take over what the watch has found."""
        subscription = self._subscription.subscription
        if subscription is None or subscription.is_manual:
            return
        subscription.topics = topics
        if not self._has_group:
            if partitions:
                self._assign(partitions)
            else:
                self._leave()
            self._subscription.assign(partitions)
        elif not topics:
            self._leave()
            await self._rebalances.assigned(set())
        elif topics != self._topics:
            self._subscribe(topics)
