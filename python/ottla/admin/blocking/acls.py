"""Calls about access control lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

from ottla._internal import arguments
from ottla._internal.required_arguments import flag
from ottla.admin import acls as acl_operations
from ottla.admin.acls import Acl, AclFilter
from ottla.admin.items import ItemErrors, settled
from ottla.admin.operation_runners import BlockingCalls
from ottla.admin.plan import Plan
from ottla.admin.tables import Table
from ottla.errors import KafkaError

_ALL = AclFilter()


class AclCalls(BlockingCalls):
    """Describes, creates and deletes entries of access control lists."""

    def describe_acls(
        self, matching: AclFilter = _ALL, *, timeout: float | None = None
    ) -> Table[Acl]:
        """Return the entries that a filter matches.

        Args:
            matching: the filter. Default: all entries.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The entries, sorted.

        Raises:
            AuthorizationError: the principal may not describe the cluster.
            BrokerError: the cluster has no authorizer.
            ConfigError: the filter names a type or an operation that Kafka does not have.
            TimeoutError: no broker responded in time.
        """
        return self._run(
            "describing ACLs", timeout, lambda call: acl_operations.describe_acls(call, matching)
        )

    @overload
    def create_acls(
        self,
        acls: Iterable[Acl],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[Acl, KafkaError | None]: ...
    @overload
    def create_acls(
        self, acls: Iterable[Acl], *, dry_run: Literal[True], timeout: float | None = None
    ) -> Plan: ...
    def create_acls(
        self,
        acls: Iterable[Acl],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Create entries; those that exist stay.

        Args:
            acls: the entries.
            dry_run: whether to create nothing, and return a plan.
            errors: what to do with the error of one entry: ``"raise"`` the first one, or
                ``"return"`` each.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By entry, None for success or the error; for a dry run the plan, without entries that
            exist.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: the cluster has no authorizer, or refuses an entry.
            ConfigError: an entry names a type or an operation that Kafka does not have.
            TimeoutError: the controller did not respond in time.
        """
        acls = arguments.collection("acls", acls)
        if flag("dry_run", dry_run):
            return self._run(
                "checking ACLs", timeout, lambda call: acl_operations.plan_creation(call, acls)
            )
        return self._run(
            "creating ACLs",
            timeout,
            settled(errors, lambda call: acl_operations.create_acls(call, acls)),
        )

    @overload
    def delete_acls(
        self,
        filters: Iterable[AclFilter],
        *,
        dry_run: Literal[False] = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> dict[AclFilter, list[Acl] | KafkaError]: ...
    @overload
    def delete_acls(
        self, filters: Iterable[AclFilter], *, dry_run: Literal[True], timeout: float | None = None
    ) -> Plan: ...
    def delete_acls(
        self,
        filters: Iterable[AclFilter],
        *,
        dry_run: bool = False,
        errors: ItemErrors = "raise",
        timeout: float | None = None,
    ) -> Any:
        """Delete the entries that filters match.

        Args:
            filters: the filters. One that names nothing matches all entries.
            dry_run: whether to delete nothing, and return a plan.
            errors: what to do with the error of one filter: ``"raise"`` the first one, or
                ``"return"`` each in place of the entries.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            By filter, the entries that were deleted; for a dry run the plan.

        Raises:
            AuthorizationError: the principal may not alter the cluster.
            BrokerError: the cluster has no authorizer.
            ConfigError: a filter names a type or an operation that Kafka does not have.
            TimeoutError: the controller did not respond in time.
        """
        filters = arguments.collection("filters", filters)
        if flag("dry_run", dry_run):
            return self._run(
                "checking ACLs", timeout, lambda call: acl_operations.plan_deletion(call, filters)
            )
        return self._run(
            "deleting ACLs",
            timeout,
            settled(errors, lambda call: acl_operations.delete_acls(call, filters)),
        )
