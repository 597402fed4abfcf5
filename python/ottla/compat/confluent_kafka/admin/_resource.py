"""What configurations and access control lists are about (``confluent_kafka.admin._resource``).

Invariant: the numbers are those of Kafka's access control lists; its configurations count groups
differently, which ``_config_calls`` translates.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka import _constants as numbers
from ottla.compat.confluent_kafka.admin._enums import OrderedEnum


class ResourceType(OrderedEnum):
    """The type of a resource. In access control lists, ``BROKER`` stands for the cluster."""

    UNKNOWN = numbers.RESOURCE_UNKNOWN
    ANY = numbers.RESOURCE_ANY
    TOPIC = numbers.RESOURCE_TOPIC
    GROUP = numbers.RESOURCE_GROUP
    BROKER = numbers.RESOURCE_BROKER
    TRANSACTIONAL_ID = numbers.RESOURCE_TRANSACTIONAL_ID


class ResourcePatternType(OrderedEnum):
    """How the name of a resource is matched."""

    UNKNOWN = numbers.RESOURCE_PATTERN_UNKNOWN
    ANY = numbers.RESOURCE_PATTERN_ANY
    MATCH = numbers.RESOURCE_PATTERN_MATCH
    LITERAL = numbers.RESOURCE_PATTERN_LITERAL
    PREFIXED = numbers.RESOURCE_PATTERN_PREFIXED
