"""The keys in which configurations differ from each other, or from Kafka's defaults.

Invariant: a broker shows of a secret only whether it is set. Two secrets never count as different,
and none is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ottla.admin import ConfigEntry
from ottla.admin.topic_defaults import inherited_value

_DEFAULT = "DEFAULT_CONFIG"


@dataclass(frozen=True)
class ConfigValue:
    """The value of a key in one configuration.

    Attributes:
        value: the value in effect; None if it is secret or empty, or if there is no such key.
        source: where it is set, by Kafka's name; None if there is no such key.
        is_sensitive: whether the value is secret.
    """

    value: str | None
    source: str | None
    is_sensitive: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether it is a secret that is set."""
        return self.is_sensitive and self.source not in {None, _DEFAULT, "UNKNOWN"}

    def __str__(self) -> str:
        """Return the value for people."""
        if self.source is None:
            return "(no such key)"
        if self.is_secret:
            return "(secret)"
        if self.source == "UNKNOWN" and self.value is None:
            return "(unknown)"
        return "(none)" if self.value is None else self.value


@dataclass(frozen=True)
class ConfigDifference:
    """A key whose values differ.

    Attributes:
        name: the key.
        values: its value in each configuration.
    """

    name: str
    values: Sequence[ConfigValue]


def differences(configs: Sequence[Mapping[str, ConfigEntry]]) -> list[ConfigDifference]:
    """Return the keys whose values in effect differ between configurations, by name."""
    found = []
    for key in sorted({key for config in configs for key in config}):
        values = [_value_of(config.get(key)) for config in configs]
        if len({(each.source is None, each.is_secret, each.value) for each in values}) > 1:
            found.append(ConfigDifference(key, values))
    return found


def differences_from_defaults(
    config: Mapping[str, ConfigEntry], broker: Mapping[str, ConfigEntry]
) -> list[ConfigDifference]:
    """Return the keys whose values in effect differ from Kafka's defaults, by name.

    Args:
        config: the configuration.
        broker: for a topic, the configuration of a broker; else nothing.
    """
    found = []
    for key, entry in sorted(config.items()):
        default = _default_of(entry, broker)
        value = _value_of(entry)
        is_set = entry.source not in {_DEFAULT, "UNKNOWN"}
        if is_set and (value.is_secret or entry.value != default.value):
            found.append(ConfigDifference(key, [value, default]))
    return found


def uncompared_secrets(configs: Sequence[Mapping[str, ConfigEntry]]) -> list[str]:
    """Return the keys of the secrets that are set in several configurations, by name."""
    keys = {key for config in configs for key in config}
    return sorted(
        key for key in keys if sum(_value_of(config.get(key)).is_secret for config in configs) > 1
    )


def _default_of(entry: ConfigEntry, broker: Mapping[str, ConfigEntry]) -> ConfigValue:
    """Return Kafka's default; brokers do not report one that is null."""
    for each in entry.synonyms:
        if each.source == _DEFAULT:
            return ConfigValue(each.value, _DEFAULT)
    if (inherited := inherited_value(entry.name, broker)) is not None:
        return ConfigValue(inherited, _DEFAULT)
    return ConfigValue(None, "UNKNOWN")


def _value_of(entry: ConfigEntry | None) -> ConfigValue:
    if entry is None:
        return ConfigValue(None, None)
    return ConfigValue(entry.value, entry.source, entry.is_sensitive)
