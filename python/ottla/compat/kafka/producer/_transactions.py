"""The calls of a producer about transactions.

Invariant: a call that ends with a timeout may be repeated, and then waits for the same outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ottla
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.consumer._commits import native_offsets
from ottla.compat.kafka.errors import IllegalStateError
from ottla.compat.kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

__all__ = ["Transactions"]


class Transactions:
    """The methods; ``KafkaProducer`` has the attributes."""

    config: dict[str, Any]
    _producer: ottla.Producer
    _initialized = False

    def init_transactions(self) -> None:
        """Take the transactional id over, and end what older producers left open.

        Raises:
            IllegalStateError: there is no ``transactional_id``.
            KafkaTimeoutError: call it again to wait for the same attempt.
        """
        self._require_transactions()
        if not self._initialized:
            with translating():
                self._producer.init_transactions()
            self._initialized = True

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._require_transactions()
        with translating():
            self._producer.begin_transaction()

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_metadata: ConsumerGroupMetadata | str,
    ) -> None:
        """Commit offsets of a group together with the transaction.

        Args:
            offsets: the offset of the next record to read, by partition.
            group_metadata: the consumer's ``group_metadata()``, or the name of its group.
        """
        self._require_transactions()
        group = (
            ConsumerGroupMetadata(group_metadata)
            if isinstance(group_metadata, str)
            else group_metadata
        )
        native = ottla.GroupMetadata(
            group.group_id or "", group.generation_id, group.member_id, group.group_instance_id
        )
        with translating():
            self._producer.send_offsets_to_transaction(native_offsets(offsets), native)

    def commit_transaction(self) -> None:
        """Commit the transaction."""
        self._require_transactions()
        with translating():
            self._producer.commit_transaction()

    def abort_transaction(self) -> None:
        """Abort the transaction."""
        self._require_transactions()
        with translating():
            self._producer.abort_transaction()

    def _require_transactions(self) -> None:
        if not self.config["transactional_id"]:
            raise IllegalStateError("Transactions need a transactional_id.")
