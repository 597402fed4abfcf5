"""The responses of ``AIOKafkaAdminClient``, with the fields of Kafka's protocol.

Invariant: items are tuples in the order of the protocol's fields, since programs unpack them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from ottla import errors as ottla_errors
from ottla.admin import ConfigEntry, GroupDescription

__all__ = [
    "ConfigsResponse",
    "DeleteTopicsResponse",
    "GroupsResponse",
    "TopicsResponse",
    "config_entry",
    "error_code",
    "group",
    "topics_response",
]

_UNKNOWN_SERVER_ERROR = -1
_NO_OPERATIONS = -(2**31)

# The codes of the places that a value may come from, by Kafka's name.
_SOURCES = {
    "UNKNOWN": 0,
    "DYNAMIC_TOPIC_CONFIG": 1,
    "DYNAMIC_BROKER_CONFIG": 2,
    "DYNAMIC_DEFAULT_BROKER_CONFIG": 3,
    "STATIC_BROKER_CONFIG": 4,
    "DEFAULT_CONFIG": 5,
    "DYNAMIC_BROKER_LOGGER_CONFIG": 6,
    "DYNAMIC_CLIENT_METRICS_CONFIG": 7,
    "DYNAMIC_GROUP_CONFIG": 8,
}


_Names: TypeAlias = Sequence["str | tuple[str, _Names]"]

_SYNONYM = ("config_name", "config_value", "config_source")
_CONFIG_ENTRY = (
    *("config_names", "config_value", "read_only", "config_source", "is_sensitive"),
    ("config_synonyms", _SYNONYM),
)
_MEMBER = ("member_id", "client_id", "client_host", "member_metadata", "member_assignment")


class _Response:
    """A response whose fields are numbers or lists of tuples."""

    _item: ClassVar[_Names]

    def to_object(self) -> dict[str, Any]:
        """Return the response as a dict, and each of its items, too."""
        return {
            name: [_by_name(item, self._item) for item in value]
            if isinstance(value, list)
            else value
            for name, value in vars(self).items()
        }


def _by_name(values: Sequence[Any], names: _Names) -> dict[str, Any]:
    named: dict[str, Any] = {}
    # The result of altering a resource is that of describing it, without the last field.
    for name, value in zip(names, values, strict=False):
        if isinstance(name, str):
            named[name] = value
        else:
            named[name[0]] = [_by_name(item, name[1]) for item in value]
    return named


@dataclass
class TopicsResponse(_Response):
    """The result of creating topics or partitions: name, error code and message of each."""

    topic_errors: list[tuple[str, int, str | None]]
    throttle_time_ms: int = 0
    _item = ("topic", "error_code", "error_message")


@dataclass
class DeleteTopicsResponse(_Response):
    """The result of deleting topics: name and error code of each."""

    topic_error_codes: list[tuple[str, int]]
    throttle_time_ms: int = 0
    _item = ("topic", "error_code")


@dataclass
class ConfigsResponse(_Response):
    """Resources with their configuration, or with the result of altering it."""

    resources: list[tuple[Any, ...]] = field(default_factory=list)
    throttle_time_ms: int = 0
    _item = (
        *("error_code", "error_message", "resource_type", "resource_name"),
        ("config_entries", _CONFIG_ENTRY),
    )


@dataclass
class GroupsResponse(_Response):
    """Descriptions of groups."""

    groups: list[tuple[Any, ...]] = field(default_factory=list)
    throttle_time_ms: int = 0
    _item = (
        *("error_code", "group", "state", "protocol_type", "protocol", ("members", _MEMBER)),
        "authorized_operations",
    )


def error_code(error: ottla_errors.KafkaError | None) -> int:
    """Return the code of an error; 0 for none."""
    if error is None:
        return 0
    return _UNKNOWN_SERVER_ERROR if error.code is None else error.code


def topics_response(results: Mapping[str, ottla_errors.KafkaError | None]) -> TopicsResponse:
    """Return the result of creating topics or partitions."""
    return TopicsResponse(
        [
            (topic, error_code(error), None if error is None else str(error))
            for topic, error in results.items()
        ]
    )


def config_entry(entry: ConfigEntry, *, synonyms: bool) -> tuple[Any, ...]:
    """Return the value of a key."""
    listed = [(item.name, item.value, _SOURCES.get(item.source, 0)) for item in entry.synonyms]
    return (
        entry.name,
        entry.value,
        entry.is_read_only,
        _SOURCES.get(entry.source, 0),
        entry.is_sensitive,
        listed if synonyms else [],
    )


def group(name: str, description: GroupDescription | ottla_errors.KafkaError) -> tuple[Any, ...]:
    """Return the description of a group; members' subscriptions are not encoded again."""
    if isinstance(description, ottla_errors.KafkaError):
        return (error_code(description), name, "", "", "", [], _NO_OPERATIONS)
    members = [
        (member.member_id, member.client_id, member.host, b"", b"")
        for member in description.members
    ]
    return (
        0,
        name,
        description.state,
        description.protocol_type,
        description.assignor,
        members,
        _NO_OPERATIONS,
    )
