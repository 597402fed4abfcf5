# Made by tools/twins.py from ../blocking/transactions.py: change that file.
"""Calls that fence producers and end prepared transactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from ottla import _core
from ottla._core import PreparedTransaction
from ottla._internal import arguments
from ottla._internal.required_arguments import flag, instances
from ottla.admin import transactions as transaction_plans
from ottla.admin.items import ItemErrors
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.errors import KafkaError


class AsyncTransactionCalls(AsynchronousCalls, _core.AsyncAdmin):
    """Fences producers, and commits and aborts prepared transactions."""

    @overload
    async def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int]]: ...
    @overload
    async def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, tuple[int, int] | KafkaError]: ...
    @overload
    async def fence_producers(
        self,
        transactional_ids: Sequence[str],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def fence_producers(
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
        if flag("dry_run", dry_run):
            found = await super().describe_transactions(
                transactional_ids, errors="return", timeout=timeout
            )
            return transaction_plans.plan_fencing(transactional_ids, found)
        return await super().fence_producers(transactional_ids, errors=errors, timeout=timeout)

    @overload
    async def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[False] = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, None]: ...
    @overload
    async def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[False] = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def end_prepared_transactions(
        self,
        transactions: Sequence[PreparedTransaction],
        *,
        commit: bool,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def end_prepared_transactions(
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
        commit = flag("commit", commit)
        transactions = instances(
            "transactions", transactions, PreparedTransaction, "PreparedTransaction(...)"
        )
        if flag("dry_run", dry_run):
            ids = [each.transactional_id for each in transactions]
            found = await super().describe_transactions(ids, errors="return", timeout=timeout)
            return transaction_plans.plan_ends(transactions, found, commit=commit)
        return await super().end_prepared_transactions(
            transactions, commit=commit, errors=errors, timeout=timeout
        )
