# Made by tools/twins.py from ../blocking/features.py: change that file.
"""Calls about features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import features
from ottla.admin.features import Downgrade, FeaturesDescription
from ottla.admin.items import ItemErrors, check_item_errors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.errors import KafkaError


class AsyncFeatureCalls(AsynchronousCalls):
    """Describes and updates features."""

    async def describe_features(
        self, *, errors: ItemErrors = "raise", timeout: float | None = None
    ) -> FeaturesDescription:
        """Return the levels of features that the cluster uses and each broker supports (KIP-584).

        Args:
            errors: what to do with the error of one broker: ``"raise"`` the first one, or
                ``"return"`` all of them as ``errors`` of the features, unless no broker responds.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The features.

        Raises:
            ConfigError: ``errors`` is invalid.
            TimeoutError: a broker did not respond in time.
        """
        check_item_errors(errors)
        return await self._run(
            "describing features",
            timeout,
            lambda call: features.describe_features(call, errors=errors),
        )

    @overload
    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        downgrade: Downgrade = "no",
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        downgrade: Downgrade = "no",
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        downgrade: Downgrade = "no",
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Set the levels of features that the cluster uses (KIP-584, KIP-778).

        Args:
            levels: by feature, such as ``transaction.version``, the new level; 0 turns it off.
            downgrade: ``"no"`` to raise levels; ``"safe"`` to lower them if that loses nothing;
                ``"unsafe"`` to lower them even if metadata is lost.
            dry_run: whether to let the controller check the levels only, and return a plan; before
                Kafka 3.3, they are compared with what the brokers support.
            errors: what to do with the error of one feature: ``"raise"`` the first one, or
                ``"return"`` each. Since Kafka 4.0, one error is that of all.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By feature, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: a feature is unknown, a broker does not support the level, or ``downgrade``
                does not allow the change.
            ConfigError: ``downgrade`` is none of the three.
            TimeoutError: the controller did not respond in time.
        """
        levels = arguments.counts("levels", levels, '{"transaction.version": 2}')
        if flag("dry_run", dry_run):
            return await self._run(
                "checking features",
                timeout,
                lambda call: features.plan_features(call, levels, downgrade=downgrade),
            )
        return await self._run(
            "updating features",
            timeout,
            settled(
                errors, lambda call: features.update_features(call, levels, downgrade=downgrade)
            ),
        )
