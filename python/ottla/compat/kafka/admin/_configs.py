"""The admin calls about configurations.

Invariant: a change touches the named keys alone, as IncrementalAlterConfigs does. No value is in a
message or a log: it may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka.admin._base import AdminBase
from ottla.compat.kafka.admin._types import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
)

__all__ = ["Configs"]

_Entries = dict[str, admin.ConfigEntry]
_BROKERS = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
_UNMODIFIED = (
    ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSourceType.STATIC_BROKER_CONFIG,
    ConfigSourceType.DEFAULT_CONFIG,
)


class Configs(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: Any = "modified",
    ) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
        """Describe the configurations of resources.

        Args:
            config_resources: whose, and optionally which keys.
            include_synonyms: whether to list where else a value was set.
            config_filter: ``modified``, ``dynamic``, ``default``, ``static`` or ``all``.

        Returns:
            Dicts by type, name and key.
        """
        wanted = ConfigFilterType.build_from(config_filter)
        result: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
        for resource, entries in self._described(list(config_resources)):
            keys = None if resource.configs is None else list(resource.configs)
            shown = {
                name: _shown(entry, include_synonyms)
                for name, entry in entries.items()
                if (keys is None or name in keys) and _matches(entry, wanted)
            }
            names = result.setdefault(resource.resource_type.name.lower(), {})
            names[str(resource.name)] = shown
        return result

    def _described(self, resources: list[ConfigResource]) -> list[tuple[ConfigResource, _Entries]]:
        native = [_native(resource) for resource in resources]
        with translating():
            found = self._admin.describe_configs(native, timeout=self._seconds())
        return [(each, found[key]) for each, key in zip(resources, native, strict=True)]

    def list_config_resources(
        self, resource_types: Iterable[Any] | None = None
    ) -> dict[str, list[str]]:
        """Return the names of what has a configuration, by type."""
        types: list[Any] | None = None
        if resource_types:
            types = [ConfigResourceType.build_from(each).name.lower() for each in resource_types]
        result: dict[str, list[str]] = {}
        with translating():
            for each in self._admin.list_config_resources(types, timeout=self._seconds()):
                result.setdefault(each.type, []).append(each.name)
        return result

    def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Change the configurations of resources.

        Args:
            config_resources: whose, with a dict of values, or of pairs of an ``AlterConfigOp`` and
                a value.
            validate_only: whether to let the brokers check them only.
            raise_on_unknown: whether to raise ValueError for a key that cannot be changed.
            incremental: has no effect: other keys are never touched.

        Returns:
            ``OK`` or the error, by type and name.
        """
        resources = list(config_resources)
        if raise_on_unknown:
            self._check_keys(resources)
        changes = {
            _native(resource): {
                key: _alteration(value) for key, value in dict(resource.configs or {}).items()
            }
            for resource in resources
        }
        return self._alter(changes, validate_only)

    def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Return keys to their defaults; all that were changed, if none are named."""
        resources = list(config_resources)
        if raise_on_unknown:
            self._check_keys(resources)
        changes: dict[admin.ConfigResource, dict[str, Any]] = {}
        for resource, entries in self._described(resources):
            keys = resource.configs or [
                name
                for name, entry in entries.items()
                if _matches(entry, ConfigFilterType.MODIFIED)
            ]
            changes[_native(resource)] = dict.fromkeys(keys)
        return self._alter(changes, validate_only)

    def _check_keys(self, resources: list[ConfigResource]) -> None:
        for resource, entries in self._described(resources):
            changeable = {name for name, entry in entries.items() if not entry.is_read_only}
            unknown = set(resource.configs or ()) - changeable
            if unknown:
                raise ValueError(f"Unrecognized configs: {unknown}")

    def _alter(
        self, changes: Mapping[admin.ConfigResource, Mapping[str, Any]], validate_only: bool
    ) -> dict[str, dict[str, str]]:
        results: dict[admin.ConfigResource, Any] = dict.fromkeys(changes)
        with translating():
            if validate_only:
                self._admin.alter_configs(changes, dry_run=True, timeout=self._seconds())
            else:
                results |= self._admin.alter_configs(
                    changes, errors="return", timeout=self._seconds()
                )
        shown: dict[str, dict[str, str]] = {}
        for resource, error in results.items():
            text = "OK" if error is None else str(translated(error))
            shown.setdefault(resource.type, {})[resource.name] = text
        return shown


def _native(resource: ConfigResource) -> admin.ConfigResource:
    if resource.resource_type in _BROKERS:
        # A ValueError, as in kafka-python.
        int(resource.name)
    kind: Any = resource.resource_type.name.lower()
    return admin.ConfigResource(kind, str(resource.name))


def _alteration(value: Any) -> Any:
    op, new = value if isinstance(value, tuple) else (AlterConfigOp.SET, value)
    chosen = AlterConfigOp.build_from(op)
    if chosen is AlterConfigOp.DELETE:
        return None
    if chosen is AlterConfigOp.APPEND:
        return admin.Append(str(new))
    if chosen is AlterConfigOp.SUBTRACT:
        return admin.Subtract(str(new))
    return None if new is None else str(new)


def _source(entry: admin.ConfigEntry) -> ConfigSourceType:
    try:
        return ConfigSourceType[entry.source]
    except KeyError:
        return ConfigSourceType.UNKNOWN


def _matches(entry: admin.ConfigEntry, wanted: ConfigFilterType) -> bool:
    source = _source(entry)
    if wanted is ConfigFilterType.DYNAMIC:
        return not entry.is_read_only
    if wanted is ConfigFilterType.MODIFIED:
        return source not in _UNMODIFIED
    if wanted is ConfigFilterType.DEFAULT:
        return source in _UNMODIFIED
    return wanted is ConfigFilterType.ALL or source is ConfigSourceType.STATIC_BROKER_CONFIG


def _shown(entry: admin.ConfigEntry, include_synonyms: bool) -> dict[str, Any]:
    return {
        "value": entry.value,
        "read_only": entry.is_read_only,
        "config_source": entry.source,
        "is_sensitive": entry.is_sensitive,
        "synonyms": [vars(each) for each in entry.synonyms] if include_synonyms else [],
        "config_type": entry.type,
        "documentation": entry.documentation,
    }
