"""Calls that list and end transactions. Those that only describe them are in Rust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from ottla import _core
from ottla._core import PreparedTransaction, TransactionListing
from ottla._internal import arguments
from ottla.admin import coordinator_topics
from ottla.admin import transactions as transaction_plans
from ottla.admin.items import ItemErrors, check_item_errors, completed
from ottla.admin.operation_call import Call
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.partitions import describe_partitions
from ottla.admin.plan import Plan
from ottla.admin.tables import PartialList
from ottla.errors import KafkaError


class TransactionCalls(BlockingCalls, _core.Admin):
    """Lists transactions, fences producers, and commits and aborts transactions."""

    def list_transactions(
        self,
        *,
        states: Sequence[str] | None = None,
        producer_ids: Sequence[int] | None = None,
        running_longer_than: float | None = None,
        id_pattern: str | None = None,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> PartialList[TransactionListing]:
        """List the transactional ids of all coordinators (KIP-664), sorted.

        Brokers leave out ids that the principal may not describe.

        Args:
            states: only these states, by Kafka's names; see ``TransactionListing``. Default: all.
            producer_ids: only the ids of these producers. Default: all.
            running_longer_than: only transactions that have been open for more than these seconds
                (Kafka 3.8 and newer).
            id_pattern: a regular expression that must match the whole transactional id.
            errors: what to do if ids may be missing, since a broker did not respond or a partition
                of ``__transaction_state`` has no leader: ``"raise"`` the error, or ``"return"`` it
                in ``errors`` of the list.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The ids. Partitions without leader are noticed only if the principal may describe
            ``__transaction_state``.

        Raises:
            BrokerError: a broker does not support the request (before Kafka 3.0) or the filter by
                duration; or a partition of ``__transaction_state`` has no leader, so no broker
                lists its ids.
            ConfigError: a state is unknown, or the pattern is invalid.
            TimeoutError: a broker did not respond in time.
        """
        check_item_errors(errors)
        listed, failed = super()._list_transactions(
            states=states,
            producer_ids=producer_ids,
            running_longer_than=running_longer_than,
            id_pattern=id_pattern,
            timeout=timeout,
        )

        async def complete(call: Call) -> PartialList[TransactionListing]:
            missing = await coordinator_topics.errors_of(call, coordinator_topics.TRANSACTIONS)
            return PartialList(listed, failed + missing)

        return self._run("listing transactions", timeout, completed(errors, complete))

    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int]]: ...
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int] | KafkaError]: ...
    @overload
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Fence the producers with transactional ids and abort their open transactions.

        This is what a new producer with the same id does to older ones. A coordinator that does
        not know an id creates it.

        Args:
            transactional_ids: the ids.
            dry_run: whether to change nothing, and return a plan: the producers and the
                transactions that would be aborted (Kafka 3.0 and newer).
            errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
                each in place of the result.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The new producer id and epoch by transactional id; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not write with the id.
            TimeoutError: a coordinator did not respond, or did not end the transaction, in time.
        """
        transactional_ids = arguments.names("transactional_ids", transactional_ids)
        if dry_run:
            found = super().describe_transactions(
                transactional_ids, errors="return", timeout=timeout
            )
            return transaction_plans.plan_fencing(transactional_ids, found)
        return super().fence_producers(transactional_ids, errors=errors, timeout=timeout)

    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, None]: ...
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Commit or abort transactions that their producers have prepared.

        See ``Producer.prepare_transaction``. Repeating it is safe: an end that was made is
        confirmed, until a newer producer uses the transactional id.

        Args:
            transactions: the transactions.
            commit: whether to commit them; else they are aborted.
            dry_run: whether to change nothing, and return a plan: the transactions that are still
                open (Kafka 3.0 and newer).
            errors: what to do with the error of one transaction: ``"raise"`` the first one, or
                ``"return"`` each in place of None.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            None, for success, by transactional id; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not write with the id.
            BrokerError: the transaction has ended otherwise (``code`` 48 or 49), or its
                transactional id has expired.
            FencedError: its time was over and the brokers have aborted it, or a newer producer
                with the id has taken over.
            TimeoutError: the outcome is not known; call it again.
        """
        transactions = arguments.collection("transactions", transactions)
        if dry_run:
            ids = [each.transactional_id for each in transactions]
            found = super().describe_transactions(ids, errors="return", timeout=timeout)
            return transaction_plans.plan_ends(transactions, found, commit=commit)
        return super().end_prepared_transactions(
            transactions, commit=commit, errors=errors, timeout=timeout
        )

    @overload
    def abort_hanging_transaction(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        *,
        dry_run: Literal[False] = False,
        timeout: float | None = None,
    ) -> None: ...
    @overload
    def abort_hanging_transaction(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def abort_hanging_transaction(
        self,
        topic: str,
        partition: int,
        start_offset: int,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Any:
        """Abort a hanging transaction in one partition.

        The partition's leader writes an abort marker (WriteTxnMarkers).

        Args:
            topic: the topic.
            partition: the partition.
            start_offset: the first offset of the transaction; see ``list_open_transactions``.
            dry_run: whether to change nothing, and return a plan.
            timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.

        Returns:
            None; for a dry run the plan.

        Raises:
            AuthorizationError: the principal needs ``ClusterAction`` on the cluster.
            FencedError: the producer or a coordinator has written with a newer epoch meanwhile.
            StateError: no open transaction starts at this offset, or it does not hang: its
                coordinator will end it, and ``fence_producers`` aborts it at once.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: the topic or the partition does not exist.
        """
        if dry_run:
            partition = arguments.integer("partition", partition)
            start_offset = arguments.integer("start_offset", start_offset)
            # The list has no error for a partition that does not exist.
            self._run(
                "checking a partition",
                timeout,
                lambda call: describe_partitions(call, [(topic, partition)]),
            )
            found = super().list_open_transactions([topic], timeout=timeout)
            return transaction_plans.plan_abort(found, topic, partition, start_offset)
        return super().abort_hanging_transaction(topic, partition, start_offset, timeout=timeout)
