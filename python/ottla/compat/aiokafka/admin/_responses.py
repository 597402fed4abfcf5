"""The responses of ``AIOKafkaAdminClient``, with the fields of Kafka's protocol.

Invariant: items are tuples in the order of the protocol's fields, since programs unpack them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class TopicsResponse:
    """The result of creating topics or partitions: name, error code and message of each."""

    topic_errors: list[tuple[str, int, str | None]]
    throttle_time_ms: int = 0


@dataclass
class DeleteTopicsResponse:
    """The result of deleting topics: name and error code of each."""

    topic_error_codes: list[tuple[str, int]]
    throttle_time_ms: int = 0


@dataclass
class ConfigsResponse:
    """Resources with their configuration, or with the result of altering it."""

    resources: list[tuple[Any, ...]] = field(default_factory=list)
    throttle_time_ms: int = 0


@dataclass
class GroupsResponse:
    """Descriptions of groups."""

    groups: list[tuple[Any, ...]] = field(default_factory=list)
    throttle_time_ms: int = 0


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
