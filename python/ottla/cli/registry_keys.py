"""Configuration keys of schema registries, which stand beside the cluster's in files and profiles.

Invariant: a key has one name here, with the prefix, whether it was written with it or not.
"""

from __future__ import annotations

from ottla._core import config_row_of, config_rows, registry_config_rows

REGISTRY_URL = "schema.registry.url"
_PREFIX = "schema.registry."
# The names that Confluent's clients have without the prefix.
_BARE = ("basic.auth.", "bearer.auth.")


def registry_key(key: str) -> str | None:
    """Return the full name of a key of schema registries; None if it is another key."""
    if key.startswith(_PREFIX):
        return key
    return _PREFIX + key if key.startswith(_BARE) else None


def is_registry_secret(key: str, value: str) -> bool:
    """Return whether a key of schema registries has a secret."""
    name = registry_key(key)
    if name is None:
        return False
    if name == REGISTRY_URL:
        return "@" in value
    rest = name.removeprefix(_PREFIX)
    secrets = {row[0] for row in (*registry_config_rows(), *config_rows()) if row[1] == "password"}
    return rest in secrets or name in secrets or config_row_of(rest) in secrets
