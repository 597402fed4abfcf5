"""Calls about client quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ottla._internal.required_arguments import flag
from ottla.admin import quotas
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.admin.quotas import QuotaEntity
from ottla.errors import KafkaError


class QuotaCalls(BlockingCalls):
    """Describes and alters client quotas."""

    def describe_client_quotas(
        self, matching: QuotaEntity | None = None, *, timeout: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Return client quotas (KIP-546).

        Args:
            matching: whose: this entity, and those that name another type too, as a user with a
                client id. Default: all.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By entity, the quotas by Kafka's names: ``producer_byte_rate`` and
            ``consumer_byte_rate`` (bytes per second), ``request_percentage``,
            ``controller_mutation_rate`` and ``connection_creation_rate`` (per second).

        Raises:
            AuthorizationError: the principal may not describe the cluster's configuration.
            BrokerError: the brokers do not support it (before Kafka 2.6).
            TimeoutError: no broker responded in time.
        """
        return self._run(
            "describing quotas", timeout, lambda call: quotas.describe_quotas(call, matching)
        )

    @overload
    def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[QuotaEntity, KafkaError | None]: ...
    @overload
    def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Set and remove client quotas (KIP-546).

        Args:
            alterations: by entity and Kafka's name of a quota, the value; None removes it.
            dry_run: whether to let the controller check them only, and return a plan.
            errors: what to do with the error of one entity: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By entity, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster's configuration.
            BrokerError: a name or a value is invalid, or the brokers do not support it (before
                Kafka 2.6).
            ConfigError: an entity names nothing, or an address and something else.
            TimeoutError: the controller did not respond in time.
        """
        alterations = quotas.checked(alterations)
        if flag("dry_run", dry_run):
            return self._run(
                "checking quotas", timeout, lambda call: quotas.plan_quotas(call, alterations)
            )
        return self._run(
            "altering quotas",
            timeout,
            settled(errors, lambda call: quotas.alter_quotas(call, alterations)),
        )
