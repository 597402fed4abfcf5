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
    ):
        """Return the next step: a name or change to handle, a future to await, or None at the end.

        Raises:
            Exception: the first error of an ``unsubscribe`` or ``close`` that is done.
        """
    def completed(self, is_done: bool) -> None:
        """Report that a step ended, and whether there was something to do or to take."""
    def failed(self, error: BaseException) -> None:
        """Report the exception of a step; a poll raises it."""
    def take_rebalance(self) -> None:
        """Take the next change of a membership that ends, as the next step."""
    def time_left(self) -> float | None:
        """The seconds until all steps must end; None for a poll."""

@final
class RebalanceChange:
    """A change of the assignment, which ``AsyncConsumer`` handles step by step."""

    @property
    def partitions(self) -> list[TopicPartition]:
        """The partitions that were assigned, revoked or lost, as topic and number."""
    def begin(self) -> Future[None]:
        """Do what comes before the callback: commit before a revocation, take up new partitions."""
    def callback(self) -> Callable[..., object] | None:
        """Return the application's callback for this change, if there is one."""
    def finish(self, succeeded: bool) -> Future[None]:
        """Give up revoked or lost partitions, and let the membership continue.

        If the callback succeeded, wait for the commits of these partitions first, a few seconds
        at most.
        """
