"""Topics and transactions; the base of the other calls."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, overload

from typing_extensions import Self, Unpack, disjoint_base

from ottla._core.admin_call import AdminCall
from ottla._core.client import Client
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
class Admin:
    """Creates and deletes topics, manages transactions, and begins the calls of ``ottla.Admin``.

    Use it in a ``with`` block, or ``close()`` it.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds to find the cluster, as for ``Client``.
        connect: whether to connect now, as for ``Client``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        connect: bool = True,
        **kwargs: Unpack[CommonConfig],
    ) -> Self: ...
    def _list_transactions(
        self,
        *,
        states: Sequence[str] | None,
        producer_ids: Sequence[int] | None,
        running_longer_than: float | None,
        id_pattern: str | None,
        timeout: float | None,
    ) -> tuple[list[TransactionListing], list[KafkaError]]: ...
    @overload
    def describe_transactions(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, TransactionDescription]:
        """Describe the transactions of transactional ids (KIP-664).

        Args:
            transactional_ids: the ids.
            errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
                each in place of the description.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The description by transactional id.

        Raises:
            AuthorizationError: the principal may not describe the id.
            BrokerError: the coordinator does not know the id (``code`` 105), or does not support
                the request (before Kafka 3.0).
            TimeoutError: a coordinator did not respond in time.
        """
    @overload
    def describe_transactions(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, TransactionDescription | KafkaError]:
        """Describe the transactions of transactional ids (KIP-664).

        Args:
            transactional_ids: the ids.
            errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
                each in place of the description.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The description by transactional id.

        Raises:
            AuthorizationError: the principal may not describe the id.
            BrokerError: the coordinator does not know the id (``code`` 105), or does not support
                the request (before Kafka 3.0).
            TimeoutError: a coordinator did not respond in time.
        """
    def describe_producers(
        self, partitions: Sequence[tuple[str, int]], *, timeout: float | None = None
    ) -> dict[tuple[str, int], list[ProducerState]]:
        """Describe the producers with ids that partition leaders know (KIP-664).

        Args:
            partitions: the partitions, as ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The producers by ``(topic, partition)``.

        Raises:
            AuthorizationError: the principal may not read the topic.
            BrokerError: a broker does not support the request (before Kafka 2.8).
            TimeoutError: a leader did not respond in time.
            UnknownTopicError: a topic or a partition does not exist.
        """
    def list_open_transactions(
        self, topics: Sequence[str], *, timeout: float | None = None
    ) -> list[OpenTransaction]:
        """List the transactions that are open in the partitions of topics.

        An open transaction keeps the last stable offset of its partitions back: consumers with
        ``isolation.level=read_committed`` read nothing from its first record on. One that hangs
        does so until it is aborted.

        Args:
            topics: the topics.
            timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.

        Returns:
            The open transactions, in the order of partitions and offsets.

        Raises:
            AuthorizationError: the principal may not read a topic.
            BrokerError: a broker does not support the requests (before Kafka 3.0).
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic does not exist.
        """
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int]]:
        """Fence the producers with transactional ids and abort their open transactions.

        This is what a new producer with the same id does to older ones. A coordinator that does
        not know an id creates it.

        Args:
            transactional_ids: the ids.
            errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
                each in place of the result.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The new producer id and epoch by transactional id.

        Raises:
            AuthorizationError: the principal may not write with the id.
            TimeoutError: a coordinator did not respond, or did not end the transaction, in time.
        """
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int] | KafkaError]:
        """Fence the producers with transactional ids and abort their open transactions.

        This is what a new producer with the same id does to older ones. A coordinator that does
        not know an id creates it.

        Args:
            transactional_ids: the ids.
            errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
                each in place of the result.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The new producer id and epoch by transactional id.

        Raises:
            AuthorizationError: the principal may not write with the id.
            TimeoutError: a coordinator did not respond, or did not end the transaction, in time.
        """
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, None]:
        """Commit or abort transactions that their producers have prepared.

        See ``Producer.prepare_transaction``. Repeating it is safe: an end that was made is
        confirmed, until a newer producer uses the transactional id.

        Args:
            transactions: the transactions.
            commit: whether to commit them; else they are aborted.
            errors: what to do with the error of one transaction: ``"raise"`` the first one, or
                ``"return"`` each in place of None.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None, for success, by transactional id.

        Raises:
            AuthorizationError: the principal may not write with the id.
            BrokerError: the transaction has ended otherwise (``code`` 48 or 49), or its
                transactional id has expired.
            FencedError: its time was over and the brokers have aborted it, or a newer producer
                with the id has taken over.
            TimeoutError: the outcome is not known; call it again.
        """
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]:
        """Commit or abort transactions that their producers have prepared.

        See ``Producer.prepare_transaction``. Repeating it is safe: an end that was made is
        confirmed, until a newer producer uses the transactional id.

        Args:
            transactions: the transactions.
            commit: whether to commit them; else they are aborted.
            errors: what to do with the error of one transaction: ``"raise"`` the first one, or
                ``"return"`` each in place of None.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None, for success, by transactional id.

        Raises:
            AuthorizationError: the principal may not write with the id.
            BrokerError: the transaction has ended otherwise (``code`` 48 or 49), or its
                transactional id has expired.
            FencedError: its time was over and the brokers have aborted it, or a newer producer
                with the id has taken over.
            TimeoutError: the outcome is not known; call it again.
        """
    def abort_hanging_transaction(
        self, topic: str, partition: int, start_offset: int, *, timeout: float | None = None
    ) -> None:
        """Abort a hanging transaction in one partition.

        The partition's leader writes an abort marker (WriteTxnMarkers).

        Args:
            topic: the topic.
            partition: the partition.
            start_offset: the first offset of the transaction; see ``list_open_transactions``.
            timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal needs ``ClusterAction`` on the cluster.
            FencedError: the producer or a coordinator has written with a newer epoch meanwhile.
            StateError: no open transaction starts at this offset, or it does not hang: its
                coordinator will end it, and ``fence_producers`` aborts it at once.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: the topic or the partition does not exist.
        """
    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user name and the password of PLAIN or SCRAM.

        Connections that are opened or authenticated again from now on use them. Others that share
        the client use them, too.

        Args:
            username: the user name.
            password: the password; it is not printed.

        Raises:
            ConfigError: the client uses neither mechanism, or an argument is empty.
        """

    def _begin(self, what: str, timeout: float | None) -> AdminCall: ...
    def close(self) -> None:
        """Close the connections, unless they belong to a shared client."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
