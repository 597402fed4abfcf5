"""The calls of ``AIOKafkaConsumer`` that start it, stop it and subscribe.

Invariants: what was subscribed to or assigned before ``start`` is applied by it. A ``stop``
because of an exception commits nothing that the application may not have processed.
"""

from __future__ import annotations

import asyncio
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error
from ottla.compat.aiokafka.abc import ConsumerRebalanceListener
from ottla.compat.aiokafka.consumer._lookups import ConsumerLookups
from ottla.compat.aiokafka.consumer._membership import Membership
from ottla.compat.aiokafka.consumer._positions import ConsumerPositions
from ottla.compat.aiokafka.consumer._subscription_state import Subscription
from ottla.compat.aiokafka.structs import TopicPartition

if TYPE_CHECKING:
    from typing_extensions import Self

    from ottla.compat.aiokafka.client import AIOKafkaClient
    from ottla.compat.aiokafka.consumer._options import ConsumerOptions
    from ottla.compat.aiokafka.consumer._records import Deserialize

__all__ = ["ConsumerLifecycle", "topic_set"]


class ConsumerLifecycle(ConsumerPositions, ConsumerLookups):
    """The base of ``AIOKafkaConsumer`` with its lifecycle."""

    _loop: asyncio.AbstractEventLoop
    _client: AIOKafkaClient
    _options: ConsumerOptions
    _deserialize: Deserialize | None
    _auto_commit_interval: float | None
    _membership: Membership | None = None
    # True once stopped; None if the constructor failed.
    _closed: bool | None = None

    async def start(self) -> None:
        """Connect, and join the group if topics are subscribed to.

        Raises:
            KafkaConnectionError: no bootstrap server could be used.
            KafkaError: the group does not accept this member.
            ValueError: the configuration is invalid.
        """
        if self._loop is not asyncio.get_running_loop():
            raise AssertionError("the consumer belongs to another event loop")
        if self._membership is not None:
            raise AssertionError("the consumer is started already")
        try:
            engine: ottla.AsyncConsumer = ottla.AsyncConsumer(
                **self._client.options.to_config(self._loop), **self._options.to_config()
            )
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error
        membership = Membership(
            engine,
            self._client,
            self._options,
            self._subscription,
            self._deserialize,
            self._auto_commit_interval,
        )
        self._membership, self._engine = membership, engine
        await self._client.connect(engine)
        # Subscribing lets the brokers create topics.
        self._client.attach(engine)
        self._fetcher = membership.fetcher
        membership.start()
        for topic in self._subscription.topics:
            await self._client._wait_on_metadata(topic)  # noqa: SLF001 - this consumer's own
        await membership.wait_for_assignment()
        await membership.wait_for_positions()

    async def stop(self) -> None:
        """Commit automatically, leave the group and close the connections."""
        # In a `finally` or `except` block, records may not have been processed.
        await self._stop(commits_all=sys.exc_info()[0] is None)

    async def __aenter__(self) -> Self:
        """Start the consumer."""
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Stop the consumer."""
        await self._stop(commits_all=exc_type is None)

    def __del__(self, _warnings: Any = warnings) -> None:
        """Warn of a consumer that was not stopped."""
        if self._closed is False:
            if self._membership is not None:
                self._membership.abandon()
            _warnings.warn(f"Unclosed AIOKafkaConsumer {self!r}", ResourceWarning, source=self)
            context = {"consumer": self, "message": "Unclosed AIOKafkaConsumer"}
            self._loop.call_exception_handler(context)

    def subscribe(
        self,
        topics: Sequence[str] | set[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        listener: ConsumerRebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics; replaces an earlier subscription.

        Args:
            topics: a list of topics.
            pattern: instead of topics, a regular expression that topics begin with.
            listener: is called before and after each rebalance.

        Raises:
            IllegalStateError: partitions are assigned with ``assign``.
            TypeError: not exactly one of topics and pattern is passed, or the listener is no
                ``ConsumerRebalanceListener``.
            ValueError: the pattern is invalid.
        """
        if not (topics or pattern):
            raise TypeError("You should provide either `topics` or `pattern`")
        if topics and pattern:
            raise TypeError("You can't provide both `topics` and `pattern`")
        if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
            raise TypeError("listener should be an instance of ConsumerRebalanceListener")
        if pattern is None:
            subscription = Subscription(topics=topic_set(topics), listener=listener)
        else:
            try:
                compiled = re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
            subscription = Subscription(pattern=compiled, listener=listener)
        self._change_subscription(subscription)

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics; of a pattern, those that match."""
        return self._subscription.topics

    def unsubscribe(self) -> None:
        """Give up all topics and partitions, and leave the group."""
        self._change_subscription(None)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without membership; replaces an earlier assignment.

        Raises:
            IllegalStateError: topics are subscribed to.
        """
        assigned = frozenset(partitions)
        self._change_subscription(
            Subscription(
                topics=frozenset(partition.topic for partition in assigned),
                is_manual=True,
                assignment=assigned,
            )
        )

    def assignment(self) -> set[TopicPartition]:
        """Return the assigned partitions; empty during a rebalance."""
        return self._subscription.assigned_partitions()

    async def topics(self) -> set[str]:
        """Return the names of all topics.

        Raises:
            KafkaError: no broker responded in time.
        """
        return (await self._client.fetch_all_metadata()).topics()

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the numbers of a topic's partitions; None if no metadata of it is known."""
        return self._client.cluster.partitions_for_topic(topic)

    def _change_subscription(self, subscription: Subscription | None) -> None:
        self._subscription.change(subscription)
        if self._membership is None or self._fetcher is None or self._closed:
            return
        if subscription is None:
            self._membership.unsubscribe()
        else:
            self._membership.apply()

    async def _stop(self, *, commits_all: bool) -> None:
        if self._closed:
            return
        self._closed = True
        if self._membership is not None:
            await self._membership.stop(commits_all=commits_all)
        await self._client.close()


def topic_set(topics: object) -> frozenset[str]:
    """Return topics as a set.

    Raises:
        TypeError: they are no list, tuple or set.
    """
    if not isinstance(topics, tuple | set | list):
        raise TypeError("Topics should be list of strings")
    return frozenset(topics)
