# Made by tools/twins.py from ../blocking/users.py: change that file.
"""Calls about users with SCRAM credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import users as user_operations
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import AsynchronousCalls
from ottla.admin.plan import Plan
from ottla.admin.users import ScramCredential, UserAlteration
from ottla.errors import KafkaError


class AsyncUserCalls(AsynchronousCalls):
    """Describes and alters SCRAM credentials."""

    @overload
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = None,
        *,
        errors: Literal["raise"] = "raise",
        timeout: float | None = None,
    ) -> dict[str, list[ScramCredential]]: ...
    @overload
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = None,
        *,
        errors: Literal["return"],
        timeout: float | None = None,
    ) -> dict[str, list[ScramCredential] | KafkaError]: ...
    async def describe_user_scram_credentials(
        self,
        users: Iterable[str] | None = None,
        *,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Return the SCRAM credentials of users, without their passwords (KIP-554).

        Args:
            users: their names. Default: all.
            errors: what to do with the error of one user: ``"raise"`` the first one, or
                ``"return"`` each in place of the credentials.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The credentials by user, sorted by mechanism.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            BrokerError: a user has none, or the brokers do not support it (before Kafka 2.7).
            TimeoutError: no broker responded in time.
        """
        if users is not None:
            users = arguments.names("users", users)
        return await self._run(
            "describing users",
            timeout,
            settled(errors, lambda call: user_operations.describe_users(call, users)),
        )

    @overload
    async def alter_user_scram_credentials(
        self,
        alterations: Mapping[str, Iterable[UserAlteration]],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[str, KafkaError | None]: ...
    @overload
    async def alter_user_scram_credentials(
        self,
        alterations: Mapping[str, Iterable[UserAlteration]],
        *,
        dry_run: Literal[True],
        timeout: float | None = None,
    ) -> Plan: ...
    async def alter_user_scram_credentials(
        self,
        alterations: Mapping[str, Iterable[UserAlteration]],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Set and delete passwords (KIP-554). The brokers get salted hashes of them.

        Args:
            alterations: by user, ``SetPassword`` and ``DeletePassword``.
            dry_run: whether to change nothing, and return a plan: which passwords would be created,
                replaced and deleted, never a password.
            errors: what to do with the error of one user: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By user, None for success or the error; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: what is to be deleted does not exist, or the brokers do not support it
                (before Kafka 2.7).
            ConfigError: a mechanism or a number of iterations is invalid, or a password empty.
            TimeoutError: the controller did not respond in time.
        """
        alterations = arguments.mapping(
            "alterations", alterations, '{"user": [SetPassword("secret")]}'
        )
        if flag("dry_run", dry_run):
            return await self._run(
                "checking users",
                timeout,
                lambda call: user_operations.plan_alterations(call, alterations),
            )
        return await self._run(
            "altering users",
            timeout,
            settled(errors, lambda call: user_operations.alter_users(call, alterations)),
        )
