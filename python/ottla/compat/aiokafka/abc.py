"""The interfaces that applications implement: rebalance listeners and token providers."""

from __future__ import annotations

import abc
from typing import Any

from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["AbstractTokenProvider", "ConsumerRebalanceListener"]


class ConsumerRebalanceListener(abc.ABC):
    """Is called before and after each rebalance of a consumer's group.

    The methods may be coroutine functions; the rebalance waits for them. They may commit, seek and
    pause. Their exceptions are logged.
    """

    @abc.abstractmethod
    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> Any:
        """Handle the end of an assignment; nothing is read until the next one.

        It is called before each join, first with an empty set, and not by ``stop``.

        Args:
            revoked: all partitions that were assigned until now.
        """

    @abc.abstractmethod
    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> Any:
        """Handle a new assignment, before anything of it is read.

        Args:
            assigned: all partitions that are assigned from now on.
        """


class AbstractTokenProvider(abc.ABC):
    """Provides the tokens for SASL OAUTHBEARER."""

    @abc.abstractmethod
    async def token(self) -> str:
        """Return a token that has not expired."""

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions to send with the token. Default: none."""
        return {}
