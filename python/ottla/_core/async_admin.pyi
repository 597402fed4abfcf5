"""Topics and transactions; the base of the other calls, for asyncio."""

from collections.abc import Awaitable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, overload

from typing_extensions import Self, Unpack, disjoint_base

from ottla._core.admin_call import AdminCall
from ottla._core.client import AsyncClient, Client
from ottla._core.transactions import (
    OpenTransaction,
    PreparedTransaction,
    ProducerState,
    TransactionDescription,
    TransactionListing,
)
from ottla.config_types import CommonConfig
from ottla.errors import KafkaError

@disjoint_base
class AsyncAdmin:
    """``Admin`` for asyncio: its calls return native futures of the running loop.

    Use it in an ``async with`` block, or ``close()`` it. Creating it does not connect it: the
    block, ``connect()`` or the first call does.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose connections
            it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds for ``connect()`` to find the cluster. Default: ``default.api.timeout.ms``.

    Raises:
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """
    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        **kwargs: Unpack[CommonConfig],
    ) -> Self: ...
    def connect(self) -> Awaitable[None]:
        """Connect to the cluster, unless it is connected already.

        Raises:
            AuthenticationError: the credentials, or the certificate of either side, were rejected.
            BootstrapError: no bootstrap server could be used; the message lists each with its
                cause.
        """
    def list_transactions(
        self,
        *,
        states: Sequence[str] | None = None,
        producer_ids: Sequence[int] | None = None,
        running_longer_than: float | None = None,
        id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> Awaitable[list[TransactionListing]]:
        """List the transactional ids of all coordinators; see ``Admin.list_transactions``.

        Args:
            states: only these states, by Kafka's names. Default: all.
            producer_ids: only the ids of these producers. Default: all.
            running_longer_than: only transactions that have been open for more than these seconds.
            id_pattern: a regular expression that must match the whole transactional id.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    @overload
    def describe_transactions(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> Awaitable[dict[str, TransactionDescription]]:
        """Describe the transactions of transactional ids; see ``Admin.describe_transactions``.

        Args:
            transactional_ids: the ids.
            errors: ``"raise"`` or ``"return"`` the error of an id.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    @overload
    def describe_transactions(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> Awaitable[dict[str, TransactionDescription | KafkaError]]:
        """Describe the transactions of transactional ids; see ``Admin.describe_transactions``.

        Args:
            transactional_ids: the ids.
            errors: ``"raise"`` or ``"return"`` the error of an id.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    def describe_producers(
        self, partitions: Sequence[tuple[str, int]], *, timeout: float | None = None
    ) -> Awaitable[dict[tuple[str, int], list[ProducerState]]]:
        """Describe the producers that partition leaders know; see ``Admin.describe_producers``.

        Args:
            partitions: the partitions, as ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    def list_open_transactions(
        self, topics: Sequence[str], *, timeout: float | None = None
    ) -> Awaitable[list[OpenTransaction]]:
        """List the transactions that are open in topics; see ``Admin.list_open_transactions``.

        Args:
            topics: the topics.
            timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
        """
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> Awaitable[dict[str, tuple[int, int]]]:
        """Fence producers and abort their open transactions; see ``Admin.fence_producers``.

        Args:
            transactional_ids: the ids.
            errors: ``"raise"`` or ``"return"`` the error of an id.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> Awaitable[dict[str, tuple[int, int] | KafkaError]]:
        """Fence producers and abort their open transactions; see ``Admin.fence_producers``.

        Args:
            transactional_ids: the ids.
            errors: ``"raise"`` or ``"return"`` the error of an id.
            timeout: seconds. Default: ``default.api.timeout.ms``.
        """
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> Awaitable[dict[str, None]]:
        """Commit or abort transactions that their producers have prepared.

        See ``Admin.end_prepared_transactions``.

        Args:
            transactions: the transactions.
            commit: whether to commit them; else they are aborted.
            errors: ``"raise"`` the first error, or ``"return"`` each in place of None.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None, for success, by transactional id.
        """
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> Awaitable[dict[str, KafkaError | None]]:
        """Commit or abort transactions that their producers have prepared.

        See ``Admin.end_prepared_transactions``.

        Args:
            transactions: the transactions.
            commit: whether to commit them; else they are aborted.
            errors: ``"raise"`` the first error, or ``"return"`` each in place of None.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None, for success, by transactional id.
        """
    def abort_hanging_transaction(
        self, topic: str, partition: int, start_offset: int, *, timeout: float | None = None
    ) -> Awaitable[None]:
        """Abort a hanging transaction in one partition; see ``Admin.abort_hanging_transaction``.

        Args:
            topic: the topic.
            partition: the partition.
            start_offset: the first offset of the transaction.
            timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.
        """
    def _begin(self, what: str, timeout: float | None) -> AdminCall: ...
    def close(self) -> Awaitable[None]:
        """Close the connections, unless they belong to a shared client."""
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Awaitable[None]: ...
