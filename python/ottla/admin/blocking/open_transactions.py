"""Calls that list transactions, and end those that hang.

Invariant: a list that may lack something is an error, or has the errors that say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from ottla import _core
from ottla._core import ProducerState, TransactionListing
from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import coordinator_topics
from ottla.admin import open_transactions as opened
from ottla.admin import transactions as transaction_plans
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors, check_item_errors, completed
from ottla.admin.open_transactions import OpenTransaction
from ottla.admin.operation_call import Call
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.partitions import describe_partitions
from ottla.admin.plan import Plan
from ottla.admin.tables import PartialList
from ottla.errors import KafkaError


class OpenTransactionCalls(BlockingCalls, _core.Admin):
    """Lists transactions, and aborts those that hang."""

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

    def list_open_transactions(  # type: ignore[override]  # with the errors of what is missing
        self,
        topics: Sequence[str],
        *,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> PartialList[OpenTransaction]:
        """List the transactions that are open in the partitions of topics.

        An open transaction keeps the last stable offset of its partitions back: consumers with
        ``isolation.level=read_committed`` read nothing from its first record on. One that hangs
        does so until it is aborted.

        Args:
            topics: the topics.
            errors: what to do if transactions, or which of them hang, may be unknown, since a
                leader or a coordinator did not respond: ``"raise"`` the error, or ``"return"`` it
                in ``errors`` of the list. Then ``is_hanging`` is False where it is unknown.
            timeout: seconds for each kind of request, and for each leader if errors are returned.
                Default: ``default.api.timeout.ms``.

        Returns:
            The open transactions, in the order of topics, partitions and offsets.

        Raises:
            AuthorizationError: the principal may not read a topic.
            BrokerError: a broker does not support the requests (before Kafka 3.0).
            ConfigError: ``errors`` is neither ``"raise"`` nor ``"return"``.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic does not exist.
        """
        check_item_errors(errors)
        names = arguments.names("topics", topics)
        groups, failed = self._run(
            "listing open transactions",
            timeout,
            lambda call: opened.find_partitions(call, names, errors),
        )
        producers: dict[TopicPartition, list[ProducerState]] = {}
        for broker, partitions in groups:
            try:
                producers |= super().describe_producers(partitions, timeout=timeout)
            except KafkaError as error:
                if errors == "raise":
                    raise
                failed.append(opened.unknown_producers(broker, partitions, error))
        found = opened.without_transactions(producers)
        if not found:
            return PartialList(found, failed)
        listed: PartialList[TransactionListing] = PartialList()
        try:
            ids = sorted({each.producer_id for each in found})
            listed = self.list_transactions(producer_ids=ids, errors=errors, timeout=timeout)
        except KafkaError as error:
            if errors == "raise":
                raise
            error.args = (f"which transactions hang is unknown: {error}",)
            listed.errors.append(error)
        described = super().describe_transactions(
            [each.transactional_id for each in listed], errors="return", timeout=timeout
        )
        found, unknown = opened.with_transactions(found, described, is_complete=not listed.errors)
        if errors == "raise" and unknown:
            raise unknown[0]
        failed += [*listed.errors, *unknown]
        suspects = {(each.topic, each.partition) for each in found if each.is_hanging}
        again: dict[TopicPartition, list[ProducerState]] = {}
        not_asked: set[TopicPartition] = set()
        for broker, partitions in groups:
            suspected = [each for each in partitions if each in suspects]
            try:
                if suspected:
                    again |= super().describe_producers(suspected, timeout=timeout)
            except KafkaError as error:
                if errors == "raise":
                    raise
                not_asked.update(suspected)
                failed.append(opened.unknown_producers(broker, suspected, error))
        found = opened.still_open(found, opened.without_transactions(again), not_asked)
        return PartialList(found, failed)

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
        topic = arguments.text("topic", topic)
        if flag("dry_run", dry_run):
            partition = arguments.integer("partition", partition)
            start_offset = arguments.integer("start_offset", start_offset)
            # The list has no error for a partition that does not exist.
            self._run(
                "checking a partition",
                timeout,
                lambda call: describe_partitions(call, [(topic, partition)]),
            )
            found = self.list_open_transactions([topic], timeout=timeout)
            return transaction_plans.plan_abort(found, topic, partition, start_offset)
        return super().abort_hanging_transaction(topic, partition, start_offset, timeout=timeout)
