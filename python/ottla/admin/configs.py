"""The configuration of topics, brokers, groups and client metrics: describe and alter it.

Invariant: an alteration names single keys (KIP-339); keys that it does not name keep their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ottla._core import error_of_code
from ottla._internal import arguments
from ottla._internal.required_arguments import instance, instances
from ottla.admin.config_resources import ConfigResource, body_of, resource_of
from ottla.admin.items import Results, error_of
from ottla.admin.named_brokers import to_named_brokers
from ottla.admin.operation_call import Body, Call, Destination, Request, Response
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
_VALUE_TYPES = {
    1: "BOOLEAN",
    2: "STRING",
    3: "INT",
    4: "SHORT",
    5: "LONG",
    6: "DOUBLE",
    7: "LIST",
    8: "CLASS",
    9: "PASSWORD",
}
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
# The first release that has these resources, and what older brokers call them.
_SINCE = {"client_metrics": "3.7", "group": "4.0"}
_RESOURCE = 'ConfigResource("topic", "name")'
_UNKNOWN_TYPE = ("Unexpected resource type", "Unknown resource type", "incompatible broker")


@dataclass(frozen=True)
class ConfigSynonym:
    """One of the places that a value may come from.

    Attributes:
        name: the key.
        value: the value; None if it is secret.
        source: where it is set, by Kafka's name.
    """

    name: str
    value: str | None
    source: str


@dataclass(frozen=True)
class ConfigEntry:
    """The value of a key.

    Attributes:
        name: the key.
        value: the value in effect; None if it is secret.
        source: where it is set, by Kafka's name, such as ``DEFAULT_CONFIG``.
        type: its type, by Kafka's name, such as ``LONG``; ``UNKNOWN`` before Kafka 2.6.
        is_sensitive: whether the value is secret.
        is_read_only: whether it cannot be altered while the broker runs.
        synonyms: the places that it may come from, the one in effect first.
        documentation: Kafka's description, if it was asked for.
    """

    name: str
    value: str | None
    source: str
    type: str
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[ConfigSynonym]
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether nobody has set it."""
        return self.source == "DEFAULT_CONFIG"


@dataclass(frozen=True)
class Append:
    """Adds an element to a value that is a list.

    Attributes:
        value: the element.
    """

    value: str


@dataclass(frozen=True)
class Subtract:
    """Removes an element from a value that is a list.

    Attributes:
        value: the element.
    """

    value: str


Alteration: TypeAlias = str | Append | Subtract | None
"""A new value; None to return to the default; or an element to add or to remove."""


def _error_of(body: Body, resource: ConfigResource, api: str) -> KafkaError | None:
    if resource.type == "topic":
        return error_of(body, api=api, topic=resource.name)
    said = body.get("error_message") or ""
    if (
        body["error_code"] == ErrorCode.INVALID_REQUEST
        and (since := _SINCE.get(resource.type))
        and any(text in said for text in _UNKNOWN_TYPE)
    ):
        message = (
            f"{resource}: the broker has no configuration of this type, which needs Kafka {since}"
        )
        return error_of_code(ErrorCode.UNSUPPORTED_VERSION, message)
    return error_of(body, resource, api=api, resource=resource.name)


def _destination(resource: ConfigResource) -> Destination:
    """Only a broker itself knows its configuration; all know the rest."""
    if resource.type not in {"broker", "broker_logger"} or not resource.name:
        return "any"
    if not resource.name.isdecimal():
        raise ConfigError(f"{resource}: expected the id of a broker")
    return int(resource.name)


def _entry(body: Body) -> ConfigEntry:
    synonyms = [
        ConfigSynonym(each["name"], each["value"], _SOURCES.get(each["source"], "UNKNOWN"))
        for each in body.get("synonyms", ())
    ]
    return ConfigEntry(
        body["name"],
        body["value"],
        _SOURCES.get(body.get("config_source", 0), "UNKNOWN"),
        _VALUE_TYPES.get(body.get("config_type", 0), "UNKNOWN"),
        body["is_sensitive"],
        body["read_only"],
        synonyms,
        body.get("documentation"),
    )


async def describe_configs(
    call: Call,
    resources: Iterable[ConfigResource],
    *,
    keys: Sequence[str] | None = None,
    documentation: bool = False,
) -> Results[ConfigResource, dict[str, ConfigEntry]]:
    """Describe configurations."""
    resources = instances("resources", resources, ConfigResource, _RESOURCE)

    def build(group: list[ConfigResource]) -> Request:
        wanted = None if keys is None else list(keys)
        described = [body_of(each) | {"configuration_keys": wanted} for each in group]
        body = {"resources": described, "include_synonyms": True}
        older = (body,) if documentation else ()
        return Request(
            "DescribeConfigs", body | {"include_documentation": documentation}, older=older
        )

    def read(
        response: Response, _: list[ConfigResource]
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        return {
            resource: _error_of(each, resource, "DescribeConfigs")
            or {entry.name: entry for entry in map(_entry, each["configs"])}
            for each in response.body["results"]
            if (resource := resource_of(each))
        }

    return await to_named_brokers(call, resources, _destination, build, read)


def _alteration(name: str, value: Alteration) -> Body:
    match value:
        case None:
            return {"name": name, "config_operation": _DELETE}
        case Append(element):
            return {"name": name, "config_operation": _APPEND, "value": element}
        case Subtract(element):
            return {"name": name, "config_operation": _SUBTRACT, "value": element}
        case _:
            return {"name": name, "config_operation": _SET, "value": value}


def checked(
    alterations: Mapping[ConfigResource, Mapping[str, Alteration]],
) -> dict[ConfigResource, dict[str, Alteration]]:
    """Return the alterations of resources.

    Raises:
        ArgumentTypeError: they are no mapping of mappings.
    """
    example = '{"retention.ms": "3600000"}'
    resource = f"{{{_RESOURCE}: {example}}}"
    found: dict[ConfigResource, dict[str, Alteration]] = {}
    for each, values in arguments.mapping("alterations", alterations, resource).items():
        instance(f"alterations: {each!r}", each, ConfigResource, _RESOURCE)
        found[each] = arguments.mapping(f"alterations[{each}]", values, example)
    return found


async def alter_configs(
    call: Call,
    alterations: Mapping[ConfigResource, Mapping[str, Alteration]],
    *,
    validate_only: bool = False,
) -> Results[ConfigResource, None]:
    """Alter single keys."""

    def build(group: list[ConfigResource]) -> Request:
        altered = [
            body_of(each) | {"configs": [_alteration(*pair) for pair in alterations[each].items()]}
            for each in group
        ]
        body = {"resources": altered, "validate_only": validate_only}
        return Request("IncrementalAlterConfigs", body)

    def read(response: Response, _: list[ConfigResource]) -> Results[ConfigResource, None]:
        return {
            resource: _error_of(each, resource, "IncrementalAlterConfigs")
            for each in response.body["responses"]
            if (resource := resource_of(each))
        }

    changes = not validate_only
    return await to_named_brokers(call, alterations, _destination, build, read, changes=changes)
