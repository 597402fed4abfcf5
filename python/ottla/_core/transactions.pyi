"""The results of listing and describing transactions."""

from typing import final

@final
class PreparedTransaction:
    """A transaction whose records are acknowledged, and that any process may end.

    ``Producer.prepare_transaction`` returns it, and ``Admin.end_prepared_transactions`` ends it. It
    can be pickled.

    Args:
        transactional_id: the transactional id.
        producer_id: the producer id.
        producer_epoch: the producer epoch.
        protocol: the version of the transaction protocol with which it must end, 1 or 2.
    """
    def __new__(
        cls, transactional_id: str, producer_id: int, producer_epoch: int, protocol: int
    ) -> PreparedTransaction: ...
    @property
    def transactional_id(self) -> str:
        """The transactional id."""
    @property
    def producer_id(self) -> int:
        """The producer id."""
    @property
    def producer_epoch(self) -> int:
        """The producer epoch."""
    @property
    def protocol(self) -> int:
        """The version of the transaction protocol: 1, or 2 (KIP-890)."""
    def __getnewargs__(self) -> tuple[str, int, int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class TransactionListing:
    """A transactional id in a list."""
    @property
    def transactional_id(self) -> str:
        """The transactional id."""
    @property
    def producer_id(self) -> int:
        """Its producer id."""
    @property
    def state(self) -> str:
        """Its state, by Kafka's name.

        ``Empty``, ``Ongoing``, ``PrepareCommit``, ``PrepareAbort``, ``CompleteCommit``,
        ``CompleteAbort`` or ``PrepareEpochFence``.
        """
    @property
    def coordinator(self) -> int:
        """The id of the broker that coordinates it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class TransactionDescription:
    """The transaction of a transactional id, as its coordinator knows it."""
    @property
    def transactional_id(self) -> str:
        """The transactional id."""
    @property
    def state(self) -> str:
        """Its state; see ``TransactionListing``."""
    @property
    def producer_id(self) -> int:
        """Its producer id."""
    @property
    def producer_epoch(self) -> int:
        """Its producer epoch."""
    @property
    def timeout(self) -> float:
        """Seconds that it may stay open (its producer's ``transaction.timeout.ms``)."""
    @property
    def start_time(self) -> int | None:
        """When the transaction was opened, in milliseconds since 1970; None if none is open."""
    @property
    def partitions(self) -> list[tuple[str, int]]:
        """The partitions of the open transaction, as ``(topic, partition)``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class ProducerState:
    """A producer as the leader of a partition knows it."""
    @property
    def producer_id(self) -> int:
        """The producer id."""
    @property
    def producer_epoch(self) -> int:
        """The producer epoch of its last batch or marker."""
    @property
    def last_sequence(self) -> int | None:
        """The sequence number of its last record; None after a marker with a new epoch."""
    @property
    def last_timestamp(self) -> int | None:
        """The time of its last batch or marker, in milliseconds since 1970; None if unknown."""
    @property
    def coordinator_epoch(self) -> int | None:
        """The epoch of the coordinator that wrote its last marker; None if none was written."""
    @property
    def transaction_start_offset(self) -> int | None:
        """The first offset of its open transaction; None if none is open in this partition."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class OpenTransaction:
    """A transaction that is open in one partition, and keeps its last stable offset back."""
    @property
    def topic(self) -> str:
        """The topic."""
    @property
    def partition(self) -> int:
        """The partition."""
    @property
    def start_offset(self) -> int:
        """The first offset of the transaction in this partition.

        With ``read_committed``, consumers read nothing from the smallest one on.
        """
    @property
    def producer_id(self) -> int:
        """The producer id."""
    @property
    def producer_epoch(self) -> int:
        """The producer epoch."""
    @property
    def last_timestamp(self) -> int | None:
        """The time of its last batch, in milliseconds since 1970; None if unknown."""
    @property
    def transaction(self) -> TransactionDescription | None:
        """The transaction as its coordinator knows it.

        None if no coordinator lists the producer, or the principal may not describe it.
        """
    @property
    def is_hanging(self) -> bool:
        """Whether the transaction hangs, so that no coordinator will end it.

        None of them knows that it is open here. ``Admin.abort_hanging_transaction`` ends it.
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
