"""Calls about the configuration of topics, brokers and groups.

Invariant: ``alter_configs`` replaces a configuration as a whole, ``incremental_alter_configs``
changes single keys; neither stands in for the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ottla.admin import ConfigResource as OttlaResource
from ottla.admin import configs
from ottla.admin.config_resources import ResourceType as OttlaType
from ottla.admin.configs import Alteration, Append, Subtract
from ottla.admin.items import Results
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from ottla.compat.confluent_kafka.admin._config_entries import entries_of
from ottla.compat.confluent_kafka.admin._resource import ResourceType
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError as OttlaError

_TYPES: dict[ResourceType, OttlaType] = {
    ResourceType.TOPIC: "topic",
    ResourceType.BROKER: "broker",
    ResourceType.GROUP: "group",
}
_Values: TypeAlias = Mapping[str, Alteration]


class ConfigCalls(AdminBase):
    """Describes and alters configurations."""

    def describe_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> Futures[ConfigResource]:
        """Describe configurations.

        Args:
            resources: whose. At most one broker may be among them.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``broker``: the id of the broker to ask; any knows the same.

        Returns:
            By resource, a future of the entries by key.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        futures = _futures_of(resources, ValueError)
        _options.check_known(kwargs, "request_timeout", "broker")
        _options.broker(kwargs)
        self._check_open()
        timeout = self._request_timeout(kwargs)
        by_resource = _checked(futures)
        if reason := _refusal(resources):
            return self._refuse(futures, *reason)

        async def describe(call: Call) -> Results[ConfigResource, dict[str, ConfigEntry]]:
            found = await configs.describe_configs(call, by_resource.values())
            return {
                resource: _result(found[each], entries_of) for resource, each in by_resource.items()
            }

        return self._start_items("describing configurations", timeout, futures, describe)

    def alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> Futures[ConfigResource]:
        """Replace configurations: keys that are not given return to their defaults.

        It is deprecated; use ``incremental_alter_configs``.

        Args:
            resources: whose, with their ``set_config``. At most one broker may be among them.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``validate_only``: whether only to check them. ``broker``: the id of the broker to
                send them to; any forwards them.

        Returns:
            By resource, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        warnings.warn(
            "alter_configs replaces whole configurations: use incremental_alter_configs",
            DeprecationWarning,
            stacklevel=2,
        )
        futures = _futures_of(resources, ValueError)
        timeout, validate_only = self._alteration_options(kwargs)
        by_resource = _checked(futures)
        if reason := _refusal(resources):
            return self._refuse(futures, *reason)
        values = {
            by_resource[each]: {str(k): str(v) for k, v in each.set_config_dict.items()}
            for each in resources
        }

        async def alter(call: Call) -> Results[ConfigResource, None]:
            found = await _replace(call, values, validate_only=validate_only)
            return {resource: found[each] for resource, each in by_resource.items()}

        return self._start_items("replacing configurations", timeout, futures, alter, "change")

    def incremental_alter_configs(
        self, resources: list[ConfigResource], **kwargs: Any
    ) -> Futures[ConfigResource]:
        """Alter single keys; others keep their values.

        Args:
            resources: whose, with their ``incremental_configs``.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``validate_only``: whether only to check them. ``broker``: the id of the broker to
                send them to; any forwards them.

        Returns:
            By resource, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        futures = _futures_of(resources, TypeError)
        timeout, validate_only = self._alteration_options(kwargs)
        by_resource = _checked(futures)
        values: dict[OttlaResource, _Values] = {}
        is_duplicate = False
        for each in resources:
            entries = _incremental(each)
            is_duplicate = is_duplicate or _options.has_duplicates(name for name, _ in entries)
            values[by_resource[each]] = dict(entries)
        if is_duplicate:
            return self._refuse(futures, KafkaError._INVALID_ARG, "Duplicate ConfigEntry found")
        if reason := _refusal(resources):
            return self._refuse(futures, *reason)

        async def alter(call: Call) -> Results[ConfigResource, None]:
            found = await configs.alter_configs(call, values, validate_only=validate_only)
            return {resource: found[each] for resource, each in by_resource.items()}

        return self._start_items("altering configurations", timeout, futures, alter, "change")

    def _alteration_options(self, options: Mapping[str, Any]) -> tuple[float, bool]:
        _options.check_known(options, "request_timeout", "validate_only", "broker")
        _options.broker(options)
        validate_only = _options.flag(options, "validate_only")
        self._check_open()
        return self._request_timeout(options), validate_only


def _futures_of(resources: Any, error: type[Exception]) -> Futures[ConfigResource]:
    for each in resources:
        if not isinstance(each, ConfigResource):
            raise error(f"expected a list of ConfigResource, not of {type(each).__name__}")
    _options.non_empty_list("ConfigResource", resources)
    return new_futures(resources)


def _checked(resources: Mapping[ConfigResource, object]) -> dict[ConfigResource, OttlaResource]:
    """Return the resources by ottla's types."""
    for each in resources:
        if not each.name:
            raise ValueError(f"{each}: the name must not be empty")
    # Another type is refused before it is looked up.
    return {each: OttlaResource(_TYPES.get(each.restype, "topic"), each.name) for each in resources}


def _refusal(resources: list[ConfigResource]) -> tuple[int, str] | None:
    """Return the error that librdkafka gives for these resources together, if any."""
    for each in resources:
        if each.restype not in _TYPES:
            return ErrorCode.INVALID_REQUEST, f"{each}: only topics, brokers and groups have one"
    brokers = [each for each in resources if each.restype is ResourceType.BROKER]
    if _options.has_duplicates(resources):
        return KafkaError._INVALID_ARG, "Duplicate ConfigResource found"
    if len(brokers) > 1:
        return KafkaError._CONFLICT, "at most one ConfigResource may be a broker"
    for each in brokers:
        if not each.name.isdecimal():
            return KafkaError._INVALID_ARG, f"{each}: expected the id of a broker"
    return None


def _incremental(resource: ConfigResource) -> list[tuple[str, Alteration]]:
    entries = resource.incremental_configs
    if not isinstance(entries, list):
        raise TypeError(f"{resource}: incremental_configs must be a list of ConfigEntry")
    if not entries:
        raise ValueError(f"{resource}: incremental_configs must not be empty")
    found: list[tuple[str, Alteration]] = []
    for entry in entries:
        if not isinstance(entry, ConfigEntry):
            raise TypeError(f"{resource}: incremental_configs must be a list of ConfigEntry")
        operation, value = entry.incremental_operation, entry.value
        if not isinstance(operation, AlterConfigOpType):
            raise TypeError(f"{entry.name}: incremental_operation must be an AlterConfigOpType")
        if not isinstance(entry.name, str):
            raise TypeError(f"the name of a ConfigEntry is of type {type(entry.name).__name__}")
        if operation is AlterConfigOpType.DELETE:
            found.append((entry.name, None))
            continue
        if not isinstance(value, str):
            raise TypeError(f"{entry.name}: the value must be a str, not {type(value).__name__}")
        if operation is AlterConfigOpType.APPEND:
            found.append((entry.name, Append(value)))
        elif operation is AlterConfigOpType.SUBTRACT:
            found.append((entry.name, Subtract(value)))
        else:
            found.append((entry.name, value))
    return found


def _result(result: Any, convert: Callable[[Any], Any]) -> Any:
    return result if isinstance(result, OttlaError) else convert(result)


async def _replace(
    call: Call, values: Mapping[OttlaResource, Mapping[str, str]], *, validate_only: bool
) -> Results[OttlaResource, None]:
    """Set values, and return the other keys that a resource has set to their defaults."""
    described = await configs.describe_configs(call, values)
    results: Results[OttlaResource, None] = {}
    alterations: dict[OttlaResource, _Values] = {}
    for resource, wanted in values.items():
        found = described[resource]
        if isinstance(found, OttlaError):
            results[resource] = found
            continue
        others = [name for name, entry in found.items() if _may_be_set(resource, entry)]
        alterations[resource] = {**dict.fromkeys(others), **wanted}
    results.update(await configs.alter_configs(call, alterations, validate_only=validate_only))
    return results


def _may_be_set(resource: OttlaResource, entry: configs.ConfigEntry) -> bool:
    """Return whether a key may have to be returned to its default.

    The broker that described it may not know of the last change. To return a key that is not set
    has no effect, but brokers refuse it for keys that only their files may set.
    """
    return resource.type != "broker" or entry.source == "DYNAMIC_BROKER_CONFIG"
