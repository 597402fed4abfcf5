"""Configurations of topics, brokers and groups (``confluent_kafka.admin._config``).

Invariant: resources are compared by type and name alone, so the one that was passed to a call is
the key of its result.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping

from ottla.compat.confluent_kafka import _constants as numbers
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka.admin._enums import member_of
from ottla.compat.confluent_kafka.admin._resource import ResourceType


class AlterConfigOpType(enum.Enum):
    """How an entry is altered. ``APPEND`` and ``SUBTRACT`` are for values that are lists."""

    SET = numbers.ALTER_CONFIG_OP_TYPE_SET
    DELETE = numbers.ALTER_CONFIG_OP_TYPE_DELETE
    APPEND = numbers.ALTER_CONFIG_OP_TYPE_APPEND
    SUBTRACT = numbers.ALTER_CONFIG_OP_TYPE_SUBTRACT


class ConfigSource(enum.Enum):
    """Where a value is set."""

    UNKNOWN_CONFIG = numbers.CONFIG_SOURCE_UNKNOWN_CONFIG
    DYNAMIC_TOPIC_CONFIG = numbers.CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG
    DYNAMIC_BROKER_CONFIG = numbers.CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG
    DYNAMIC_DEFAULT_BROKER_CONFIG = numbers.CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG
    STATIC_BROKER_CONFIG = numbers.CONFIG_SOURCE_STATIC_BROKER_CONFIG
    DEFAULT_CONFIG = numbers.CONFIG_SOURCE_DEFAULT_CONFIG
    GROUP_CONFIG = numbers.CONFIG_SOURCE_GROUP_CONFIG


class ConfigEntry:
    """One key of a configuration, as it is described or as it is to be altered.

    Attributes:
        name: the key.
        value: the value; None if it is secret.
        source: where it is set; in descriptions the number of a ``ConfigSource``.
        is_read_only: whether it cannot be altered.
        is_default: whether nobody has set it.
        is_sensitive: whether it is secret.
        is_synonym: whether it is a synonym of another entry.
        synonyms: the other places that the value may come from, by name.
        incremental_operation: how ``incremental_alter_configs`` alters it.
    """

    def __init__(
        self,
        name: str,
        value: str | None,
        source: ConfigSource | int = ConfigSource.UNKNOWN_CONFIG,
        is_read_only: bool = False,
        is_default: bool = False,
        is_sensitive: bool = False,
        is_synonym: bool = False,
        synonyms: dict[str, ConfigEntry] | None = None,
        incremental_operation: AlterConfigOpType | None = None,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.is_read_only = bool(is_read_only)
        self.is_default = bool(is_default)
        self.is_sensitive = bool(is_sensitive)
        self.is_synonym = bool(is_synonym)
        self.synonyms = {} if synonyms is None else synonyms
        self.incremental_operation = incremental_operation

    def __repr__(self) -> str:
        return f"ConfigEntry({self})"

    def __str__(self) -> str:
        return f'{self.name}="{self.value}"'


@functools.total_ordering
class ConfigResource:
    """A topic, a broker or a group, and values to set in its configuration.

    Args:
        restype: the type, as a member, its name in any case, or its number.
        name: the name; of a broker its id.
        set_config: the values for ``alter_configs``, by key.
        described_configs: the entries of a description, by key.
        error: the error of the resource.
        incremental_configs: the entries for ``incremental_alter_configs``.

    Raises:
        ValueError: the name is None, or the type is unknown.
    """

    Type = ResourceType

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        set_config: Mapping[str, str] | None = None,
        described_configs: dict[str, ConfigEntry] | None = None,
        error: KafkaError | None = None,
        incremental_configs: Iterable[ConfigEntry] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name must not be None")
        self.restype = member_of(ResourceType, restype)
        self.name = name
        self.set_config_dict = dict(set_config or {})
        self.incremental_configs = list(incremental_configs or [])
        self.configs = described_configs
        self.error = error

    def set_config(self, name: str, value: str, overwrite: bool = True) -> None:
        """Add a value for ``alter_configs``.

        Args:
            name: the key.
            value: the value.
            overwrite: whether to replace one that was added before.
        """
        if overwrite or name not in self.set_config_dict:
            self.set_config_dict[name] = value

    def add_incremental_config(self, config_entry: ConfigEntry) -> None:
        """Add an entry for ``incremental_alter_configs``."""
        self.incremental_configs.append(config_entry)

    def __repr__(self) -> str:
        error = "" if self.error is None else f",{self.error}"
        return f"ConfigResource({self.restype},{self.name}{error})"

    def __len__(self) -> int:
        return len(self.set_config_dict)

    def __hash__(self) -> int:
        return hash((self.restype, self.name))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.restype, self.name) == (other.restype, other.name)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.restype, self.name) < (other.restype, other.name)
