"""The configuration keys of schemas, which files and profiles contain next to the cluster's keys.

They are the keys of schema registries, and the limits on what a schema multiplies.

Invariant: a key has one name here, the one with the prefix, even if it was written without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla._core import config_row_of, config_rows, registry_config_rows, schema_limit_rows

REGISTRY_URL = "schema.registry.url"
_PREFIX = "schema.registry."
_SCHEMAS = "schema."
# The names that Confluent's clients use without the prefix.
_BARE = ("basic.auth.", "bearer.auth.")


def registry_key(key: str) -> str | None:
    """Return the full name of a key of schemas or their registries, or None for other keys."""
    if key.startswith(_SCHEMAS):
        return key
    return _PREFIX + key if key.startswith(_BARE) else None


def without_limits(config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a command's keys into the configuration of a registry and the limits of schemas."""
    names = {row[0] for row in schema_limit_rows()}
    registry = {name: value for name, value in config.items() if name not in names}
    return registry, {name: value for name, value in config.items() if name in names}


def is_registry_secret(key: str, value: str) -> bool:
    """Return whether the value of a schema registry's key is a secret."""
    name = registry_key(key)
    if name is None:
        return False
    if name == REGISTRY_URL:
        return "@" in value
    rest = name.removeprefix(_PREFIX)
    secrets = {row[0] for row in (*registry_config_rows(), *config_rows()) if row[1] == "password"}
    return rest in secrets or name in secrets or config_row_of(rest) in secrets
