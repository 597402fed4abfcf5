"""Listeners of rebalances, and how ottla's consumer calls them.

Invariant: with an assignor that makes members give up everything, a listener sees what it is about
to give up, possibly nothing, and then its whole assignment, in each rebalance; with a cooperative
one it sees only what changes.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from ottla.compat.kafka.errors import KafkaError
from ottla.compat.kafka.structs import TopicPartition

__all__ = ["AsyncConsumerRebalanceListener", "ConsumerRebalanceListener", "RebalanceCallbacks"]

log = logging.getLogger(__name__)


class ConsumerRebalanceListener(ABC):
    """Is called inside a poll when the consumer's partitions change; it may commit and seek."""

    @abstractmethod
    def on_partitions_revoked(self, revoked: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the consumer is about to give up."""

    @abstractmethod
    def on_partitions_assigned(self, assigned: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the consumer has got."""

    def on_partitions_lost(self, lost: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the group has taken away; a commit for them would fail."""
        return self.on_partitions_revoked(lost)


class AsyncConsumerRebalanceListener(ABC):
    """The same with coroutines, which run to their end inside the poll."""

    @abstractmethod
    async def on_partitions_revoked(self, revoked: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the consumer is about to give up."""

    @abstractmethod
    async def on_partitions_assigned(self, assigned: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the consumer has got."""

    async def on_partitions_lost(self, lost: AbstractSet[TopicPartition]) -> Any:
        """Learn which partitions the group has taken away; a commit for them would fail."""
        return await self.on_partitions_revoked(lost)


class Assigned(Protocol):
    """A consumer that knows its partitions."""

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read."""


class RebalanceCallbacks:
    """A listener as callbacks of ottla's ``subscribe``."""

    def __init__(
        self,
        listener: ConsumerRebalanceListener | AsyncConsumerRebalanceListener,
        consumer: Callable[[], Assigned | None],
        cooperative: bool,
    ) -> None:
        self._listener = listener
        # Weak: ottla's consumer holds this object.
        self._consumer = consumer
        self._cooperative = cooperative
        self._gave_up = False

    def for_subscribe(self) -> dict[str, Any]:
        """Return the arguments of ``subscribe``."""
        return {
            "on_assigned": self._on_assigned,
            "on_revoked": self._on_revoked,
            "on_lost": self._on_lost,
        }

    def _on_assigned(self, _consumer: object, partitions: list[tuple[str, int]]) -> None:
        added = {TopicPartition(*each) for each in partitions}
        if self._cooperative:
            if added:
                self._call("on_partitions_assigned", added)
            return
        if not self._gave_up:
            self._call("on_partitions_revoked", set())
        self._gave_up = False
        consumer = self._consumer()
        self._call("on_partitions_assigned", added if consumer is None else consumer.assignment())

    def _on_revoked(self, _consumer: object, partitions: list[tuple[str, int]]) -> None:
        self._leave("on_partitions_revoked", partitions)

    def _on_lost(self, _consumer: object, partitions: list[tuple[str, int]]) -> None:
        self._leave("on_partitions_lost", partitions)

    def _leave(self, method: str, partitions: list[tuple[str, int]]) -> None:
        self._gave_up = True
        if partitions or not self._cooperative:
            self._call(method, {TopicPartition(*each) for each in partitions})

    def _call(self, method: str, partitions: set[TopicPartition]) -> None:
        try:
            returned = getattr(self._listener, method)(partitions)
            if inspect.iscoroutine(returned):
                _run(returned)
        except Exception as error:
            log.exception("%s of a rebalance listener has failed", method)
            raise KafkaError("User rebalance callback throws an error") from error


def _run(coroutine: Coroutine[Any, Any, Any]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(coroutine)
        return
    # The poll was called by a coroutine: its loop cannot run another one meanwhile.
    failure: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(coroutine)
        except BaseException as error:  # noqa: BLE001 - raised by the other thread
            failure.append(error)

    thread = threading.Thread(target=run, name="ottla-rebalance-listener")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
