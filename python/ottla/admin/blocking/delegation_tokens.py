"""Calls about delegation tokens."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag, octets
from ottla.admin import delegation_tokens
from ottla.admin.delegation_tokens import DelegationToken
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.admin.tables import Table


class DelegationTokenCalls(BlockingCalls):
    """Creates, renews, expires and describes delegation tokens."""

    @overload
    def create_delegation_token(
        self,
        *,
        dry_run: Literal[False] = False,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime: timedelta | None = None,
        timeout: float | None = None,
    ) -> DelegationToken: ...
    @overload
    def create_delegation_token(
        self,
        *,
        dry_run: Literal[True],
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime: timedelta | None = None,
        timeout: float | None = None,
    ) -> Plan: ...
    def create_delegation_token(
        self,
        *,
        dry_run: bool = False,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime: timedelta | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Create a delegation token (KIP-48): with it, a client logs in as its owner.

        Args:
            owner: the principal that it stands for, such as ``User:alice``; others than one's own
                need Kafka 3.3 (KIP-373). Default: the client's own.
            renewers: other principals that may renew it and let it expire. With KRaft, the one that
                creates a token of another owner may not, unless it is among them.
            max_lifetime: after which time it expires for good. Default:
                ``delegation.token.max.lifetime.ms`` of the brokers.
            dry_run: whether to create nothing, and return a plan.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The token. Other brokers may learn of it a moment later; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not create tokens of the owner.
            BrokerError: the brokers have no ``delegation.token.secret.key``, or the client's
                connections are not authenticated, or are so by a token.
            ConfigError: a principal or the lifetime is invalid.
            TimeoutError: the controller did not respond in time.
        """
        renewers = arguments.names("renewers", renewers)
        if flag("dry_run", dry_run):
            return self._run(
                "checking a delegation token",
                timeout,
                lambda call: delegation_tokens.plan_creation(
                    call, owner=owner, renewers=renewers, max_lifetime=max_lifetime
                ),
            )
        return self._run(
            "creating a delegation token",
            timeout,
            lambda call: delegation_tokens.create_delegation_token(
                call, owner=owner, renewers=renewers, max_lifetime=max_lifetime
            ),
        )

    @overload
    def renew_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: Literal[False] = False,
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> int: ...
    @overload
    def renew_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: Literal[True],
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> Plan: ...
    def renew_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: bool = False,
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Renew a delegation token.

        Args:
            hmac: the HMAC of the token.
            period: how long from now. Default: ``delegation.token.expiry.time.ms`` of the brokers.
            dry_run: whether to change nothing, and return a plan: when it expires before and after,
                never its HMAC. The token is looked up with ``describe_delegation_token``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            When it expires now, in ms since 1970; at most its ``max_timestamp_ms``. For a dry run
            the plan.

        Raises:
            AuthorizationError: the principal may not renew it.
            BrokerError: the token does not exist or has expired.
            ConfigError: the period is invalid.
            TimeoutError: the controller did not respond in time.
        """
        hmac = octets("hmac", hmac)
        if flag("dry_run", dry_run):
            return self._run(
                "checking a delegation token",
                timeout,
                lambda call: delegation_tokens.plan_renewal(call, hmac, period),
            )
        return self._run(
            "renewing a delegation token",
            timeout,
            lambda call: delegation_tokens.renew_delegation_token(call, hmac, period),
        )

    @overload
    def expire_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: Literal[False] = False,
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> int: ...
    @overload
    def expire_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: Literal[True],
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> Plan: ...
    def expire_delegation_token(
        self,
        hmac: bytes,
        *,
        dry_run: bool = False,
        period: timedelta | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Let a delegation token expire.

        Args:
            hmac: the HMAC of the token.
            period: how long from now. Default: at once; the brokers delete the token.
            dry_run: whether to change nothing, and return a plan: when it expires before and after,
                never its HMAC. The token is looked up with ``describe_delegation_token``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            When it expires, in ms since 1970; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not expire it.
            BrokerError: the token does not exist or has expired; if the response to an earlier
                attempt was lost, with ``maybe_done``.
            ConfigError: the period is invalid.
            TimeoutError: the controller did not respond in time.
        """
        hmac = octets("hmac", hmac)
        if flag("dry_run", dry_run):
            return self._run(
                "checking a delegation token",
                timeout,
                lambda call: delegation_tokens.plan_expiry(call, hmac, period),
            )
        return self._run(
            "expiring a delegation token",
            timeout,
            lambda call: delegation_tokens.expire_delegation_token(call, hmac, period),
        )

    def describe_delegation_token(
        self, owners: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Table[DelegationToken]:
        """Return the delegation tokens that the principal owns, may renew or may describe.

        Args:
            owners: of these principals, such as ``User:alice``. Default: all.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The tokens, with their HMACs, in the order of their ids. ``to_arrow()`` leaves the HMACs
            out.

        Raises:
            BrokerError: the brokers have no ``delegation.token.secret.key``, or the client's
                connections are not authenticated, or are so by a token.
            ConfigError: a principal is invalid.
            TimeoutError: no broker responded in time.
        """
        if owners is not None:
            owners = arguments.names("owners", owners)
        return self._run(
            "describing delegation tokens",
            timeout,
            lambda call: delegation_tokens.describe_delegation_token(call, owners),
        )
