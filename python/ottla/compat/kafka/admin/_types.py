"""The types of topics, configurations and groups that the admin client's calls take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

from ottla.compat.kafka._named import Named

__all__ = [
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "ConfigType",
    "GroupState",
    "GroupType",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
]


class NewTopic:
    """A topic to create; -1 stands for the brokers' default."""

    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = dict(replica_assignments or {})
        self.topic_configs = dict(topic_configs or {})


class NewPartitions:
    """The number of partitions that a topic is to have."""

    def __init__(
        self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


class ConfigResourceType(Named, IntEnum):
    """What has a configuration."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource:
    """Whose configuration, and which keys of it."""

    def __init__(
        self, resource_type: ConfigResourceType | str, name: Any, configs: Any = None
    ) -> None:
        self.resource_type = ConfigResourceType.build_from(resource_type)
        self.name = name
        self.configs = configs

    def __repr__(self) -> str:
        # The values may be secrets.
        return f"ConfigResource({self.resource_type.name}, {self.name})"


class ConfigType(Named, IntEnum):
    """The type of a value."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class ConfigSourceType(Named, IntEnum):
    """Where a value was set."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigFilterType(Named, IntEnum):
    """Which keys ``describe_configs`` returns."""

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4


class AlterConfigOp(Named, IntEnum):
    """What happens to a value."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class GroupState(str, Named, Enum):
    """The state of a group."""

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


class GroupType(str, Named, Enum):
    """The type of a group."""

    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


@dataclass(frozen=True)
class MemberToRemove:
    """A member to remove from its group, by its id or its ``group.instance.id``."""

    member_id: str | None = None
    group_instance_id: str | None = None
    reason: str | None = field(default=None)
