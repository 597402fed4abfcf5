# Made by tools/twins.py from ../blocking/configs.py: change that file.
"""Calls about the configuration of topics, brokers, groups and client metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import config_plan, config_resources, configs
from ottla.admin.config_resources import ConfigResource, ResourceType
from ottla.admin.configs import Alteration, ConfigEntry
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.tables import Table
from ottla.errors import KafkaError


class AsyncConfigCalls(AsynchronousCalls):
    """Lists, describes and alters configurations."""

    async def list_config_resources(
        self, types: Iterable[ResourceType] | None = None, *, timeout: float | None = None
    ) -> Table[ConfigResource]:
        """List the resources that have a configuration (KIP-1142).

        Args:
            types: ``topic``, ``broker``, ``broker_logger``, ``client_metrics`` (subscriptions of
                KIP-714) or ``group`` (groups that have a configuration of their own). Default: all.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The resources, sorted by type and name.

        Raises:
            AuthorizationError: the principal may not describe the cluster's configuration.
            BrokerError: the brokers do not support it: client metrics need Kafka 3.7, other types
                Kafka 4.1.
            ConfigError: a type is unknown.
            TimeoutError: no broker responded in time.
        """
        if types is not None:
            types = arguments.collection("types", types)
        return await self._run(
            "listing configuration resources",
            timeout,
            lambda call: config_resources.list_config_resources(call, types),
        )

    @overload
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        documentation: bool = False,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]: ...
    @overload
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        documentation: bool = False,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]: ...
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        documentation: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Describe configurations.

        Args:
            resources: whose, such as ``ConfigResource("topic", "orders")``.
            keys: which keys. Default: all.
            documentation: whether to ask for Kafka's description of each key (Kafka 2.6).
            errors: what to do with the error of one resource: ``"raise"`` the first one, or
                ``"return"`` each in place of the entries.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The entries by key, by resource.

        Raises:
            AuthorizationError: the principal may not describe the configuration.
            BrokerError: a broker is down or does not exist; or the brokers do not support the type
                of a resource: ``client_metrics`` needs Kafka 3.7, ``group`` 4.0.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic does not exist.
        """
        documentation = flag("documentation", documentation)
        resources = arguments.collection("resources", resources)
        if keys is not None:
            keys = arguments.names("keys", keys)
        return await self._run(
            "describing configurations",
            timeout,
            settled(
                errors,
                lambda call: configs.describe_configs(
                    call, resources, keys=keys, documentation=documentation
                ),
            ),
        )

    @overload
    async def alter_configs(
        self,
        alterations: Mapping[ConfigResource, Mapping[str, Alteration]],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[ConfigResource, KafkaError | None]: ...
    @overload
    async def alter_configs(
        self,
        alterations: Mapping[ConfigResource, Mapping[str, Alteration]],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def alter_configs(
        self,
        alterations: Mapping[ConfigResource, Mapping[str, Alteration]],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Alter single keys (KIP-339); others keep their values.

        Args:
            alterations: by resource and key, the new value; None to return to the default;
                ``Append`` or ``Subtract`` to change a list.
            dry_run: whether to let the brokers check them only, and return a plan of the keys that
                would change.
            errors: what to do with the error of one resource: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By resource, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the configuration.
            ConfigError: a key or a value is invalid; nothing of its resource was altered.
            BrokerError: a broker is down or does not exist; or the brokers do not support the type
                of a resource: ``client_metrics`` needs Kafka 3.7, ``group`` 4.0.
            TimeoutError: a broker did not respond in time.
            UnknownTopicError: a topic does not exist.
        """
        alterations = configs.checked(alterations)
        if flag("dry_run", dry_run):
            return await self._run(
                "checking configurations",
                timeout,
                lambda call: config_plan.plan_configs(call, alterations),
            )
        return await self._run(
            "altering configurations",
            timeout,
            settled(errors, lambda call: configs.alter_configs(call, alterations)),
        )
