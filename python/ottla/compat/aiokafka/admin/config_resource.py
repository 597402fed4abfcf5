"""``ConfigResource``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

__all__ = ["ConfigResource", "ConfigResourceType"]


class ConfigResourceType(IntEnum):
    """The kinds of resources that have a configuration."""

    BROKER = 4
    TOPIC = 2


class ConfigResource:
    """A resource with a configuration.

    Args:
        resource_type: the kind, also by name.
        name: the topic, or the id of the broker.
        configs: the keys to describe, or their new values. Default: all keys.
    """

    def __init__(
        self,
        resource_type: ConfigResourceType | str,
        name: str | int,
        configs: Mapping[str, str | None] | None = None,
    ) -> None:
        if not isinstance(resource_type, ConfigResourceType):
            resource_type = ConfigResourceType[str(resource_type).upper()]
        self.resource_type = resource_type
        self.name = name
        self.configs = configs
