"""The steps of a call of ``AsyncConsumer``, and of a rebalance."""

from asyncio import Future
from collections.abc import Callable
from typing import Literal, final

from ottla._core.aliases import TopicPartition

@final
class ConsumerCall:
    """The steps of a poll, an ``unsubscribe`` or a ``close`` of ``AsyncConsumer``."""

    def next_step(
        self,
    ) -> (
        Literal["commit_callbacks", "take", "next_rebalance"]
        | RebalanceChange
        | Future[None]
        | None
    ): ...
    def completed(self, is_done: bool) -> None: ...
    def failed(self, error: BaseException) -> None: ...
    def take_rebalance(self) -> None: ...
    def time_left(self) -> float | None: ...

@final
class RebalanceChange:
    """A change of the assignment, which ``AsyncConsumer`` handles step by step."""

    @property
    def partitions(self) -> list[TopicPartition]: ...
    def begin(self) -> Future[None]: ...
    def callback(self) -> Callable[..., object] | None: ...
    def finish(self, succeeded: bool) -> Future[None]: ...
