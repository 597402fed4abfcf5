"""ottla's descriptions of configurations as ``ConfigEntry`` objects.

Invariant: a secret value is None.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.admin import configs
from ottla.compat.confluent_kafka.admin._config import ConfigEntry

_SOURCES = {name: number for number, name in configs._SOURCES.items()}


def entries_of(entries: Mapping[str, configs.ConfigEntry]) -> dict[str, ConfigEntry]:
    """Return the entries of a resource by key."""
    return {name: _entry(entry) for name, entry in entries.items()}


def _entry(entry: configs.ConfigEntry) -> ConfigEntry:
    synonyms = {
        each.name: ConfigEntry(each.name, each.value, _SOURCES.get(each.source, 0), is_synonym=True)
        for each in entry.synonyms
    }
    return ConfigEntry(
        entry.name,
        entry.value,
        _SOURCES.get(entry.source, 0),
        entry.is_read_only,
        entry.is_default,
        entry.is_sensitive,
        synonyms=synonyms,
    )
