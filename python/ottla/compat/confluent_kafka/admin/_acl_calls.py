"""Calls about access control lists.

Invariant: a type or an operation that this layer has no name for is UNKNOWN, never another one.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from ottla.admin import Acl, AclFilter, acls
from ottla.admin.items import Results
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError

_RESOURCES = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.BROKER: "cluster",
    ResourceType.TRANSACTIONAL_ID: "transactional_id",
}
_RESOURCE_OF = {name: member for member, name in _RESOURCES.items()}


class AclCalls(AdminBase):
    """Creates, describes and deletes entries of access control lists."""

    def create_acls(self, acls: list[AclBinding], **kwargs: Any) -> Futures[AclBinding]:
        """Create entries; those that exist stay.

        Args:
            acls: the entries, each once.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By entry, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        return self._create_acls(acls, **kwargs)

    def _create_acls(self, bindings: list[AclBinding], **kwargs: Any) -> Futures[AclBinding]:
        if _options.has_duplicates(bindings):
            raise ValueError("an ACL binding is given twice")
        futures = _futures_of(bindings, AclBinding)
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        by_binding = {binding: _to_ottla(binding) for binding in bindings}

        async def create(call: Call) -> Results[AclBinding, None]:
            found = await acls.create_acls(call, by_binding.values())
            return {binding: found[acl] for binding, acl in by_binding.items()}

        return self._start_items("creating ACLs", timeout, futures, create, "change")

    def describe_acls(
        self, acl_binding_filter: AclBindingFilter, **kwargs: Any
    ) -> Future[list[AclBinding]]:
        """Return the entries that a filter matches.

        Args:
            acl_binding_filter: the filter.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            A future of the entries.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        matching = _filter(acl_binding_filter)

        async def describe(call: Call) -> list[AclBinding]:
            try:
                return [_from_ottla(each) for each in await acls.describe_acls(call, matching)]
            except KafkaError as error:
                # Without an authorizer there are none, which librdkafka does not call an error.
                if error.code != ErrorCode.SECURITY_DISABLED:
                    raise
                return []

        return self._start_one("describing ACLs", timeout, describe)

    def delete_acls(
        self, acl_binding_filters: list[AclBindingFilter], **kwargs: Any
    ) -> Futures[AclBindingFilter]:
        """Delete the entries that filters match.

        Args:
            acl_binding_filters: the filters, each once.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By filter, a future of the entries that were deleted.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        if _options.has_duplicates(acl_binding_filters):
            raise ValueError("an ACL binding filter is given twice")
        futures = _futures_of(acl_binding_filters, AclBindingFilter)
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        by_filter = {each: _filter(each) for each in acl_binding_filters}

        async def delete(call: Call) -> Results[AclBindingFilter, list[AclBinding]]:
            found = await acls.delete_acls(call, by_filter.values())
            results: Results[AclBindingFilter, list[AclBinding]] = {}
            for each, matching in by_filter.items():
                deleted = found[matching]
                results[each] = (
                    deleted
                    if isinstance(deleted, KafkaError)
                    else [_from_ottla(acl) for acl in deleted]
                )
            return results

        return self._start_items("deleting ACLs", timeout, futures, delete, "change")


def _futures_of(items: Any, kind: type[AclBinding]) -> Futures[Any]:
    for each in items:
        if not isinstance(each, kind):
            raise ValueError(f"expected a list of {kind.__name__}")  # noqa: TRY004 - the peer's
    _options.non_empty_list(kind.__name__, items)
    return new_futures(items)


def _to_ottla(binding: AclBinding) -> Acl:
    """Return an entry for ottla.

    Raises:
        ValueError: a field is unknown.
    """
    for field in ("restype", "resource_pattern_type", "operation", "permission_type"):
        if not getattr(binding, field).value:
            raise ValueError(f"{binding}: {field} is UNKNOWN")
    return Acl(
        _RESOURCES[binding.restype],  # type: ignore[arg-type]
        binding.name,
        binding.principal,
        binding.operation.name.lower(),
        binding.permission_type.name.lower(),
        binding.host,
        binding.resource_pattern_type.name.lower(),
    )


def _filter(matching: object) -> AclFilter:
    if not isinstance(matching, AclBindingFilter):
        raise TypeError(f"expected an AclBindingFilter, not {type(matching).__name__}")

    def name_of(member: Any) -> Any:
        return None if member.name == "ANY" else member.name.lower()

    return AclFilter(
        None if matching.restype is ResourceType.ANY else _RESOURCES[matching.restype],  # type: ignore[arg-type]
        matching.name,
        matching.principal,
        name_of(matching.operation),
        name_of(matching.permission_type),
        matching.host,
        name_of(matching.resource_pattern_type),
    )


def _from_ottla(acl: Acl) -> AclBinding:
    return AclBinding(
        _RESOURCE_OF.get(acl.resource_type, ResourceType.UNKNOWN),
        acl.resource_name,
        _member(ResourcePatternType, acl.pattern_type),
        acl.principal,
        acl.host,
        _member(AclOperation, acl.operation),
        _member(AclPermissionType, acl.permission),
    )


def _member(kind: Any, name: str) -> Any:
    return kind.__members__.get(name.upper(), kind.UNKNOWN)
