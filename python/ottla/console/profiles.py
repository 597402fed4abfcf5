"""The clusters of ``ottla console``: one by its arguments, or several by their profiles.

Invariants: the profiles are read once, when the command starts; nothing that names one cluster
applies to several, so that the credentials of a profile are never sent to another cluster.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ottla import Client
from ottla._core import check_schema_limits, config_row_of
from ottla.cli.options import configuration, read_config, registry_configuration, settings_of
from ottla.cli.profile_list import servers_of_profile
from ottla.cli.profiles import named_profile, path, read_profiles
from ottla.cli.registry_keys import REGISTRY_URL, registry_key, without_limits
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from ottla.console.clusters import NamedCluster
    from ottla.console.routes.context import Context
    from ottla.schema import Registry


def selected(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Return the profiles of a console of several clusters by their names; none for one cluster.

    ``arguments.profile`` becomes the only profile that was named, or None.

    Raises:
        ConfigError: a profile does not exist, or an argument names the cluster of all profiles.
    """
    before = [] if arguments.profile is None else [arguments.profile]
    # As for other commands, one that follows the command replaces the one before it.
    named = arguments.profiles or before
    if arguments.all_profiles and named:
        raise ConfigError(
            "--all-profiles shows every profile: leave out --profile, or leave it out"
        )
    if arguments.all_profiles:
        found = read_profiles()
        if not found:
            raise ConfigError(f"--all-profiles: {path()} is missing or has no profiles")
    elif len(set(named)) > 1:
        profiles = read_profiles()
        found = {name: named_profile(name, profiles) for name in named}
    else:
        arguments.profile = named[0] if named else None
        return {}
    _check(arguments)
    if len(found) == 1:
        [arguments.profile] = found
        return {}
    return found


def _check(arguments: argparse.Namespace) -> None:
    """Check that no argument names the cluster or the registry of all profiles."""
    file = {} if arguments.config is None else read_config(arguments.config)
    keys = [*file, *(key for key, _ in settings_of(arguments))]
    given = {
        "BOOTSTRAP": arguments.bootstrap,
        "-b": arguments.brokers,
        "--schema-registry": arguments.schema_registry,
        "--gateway": arguments.gateways,
        "bootstrap.servers": any(config_row_of(key) == "bootstrap.servers" for key in keys),
        REGISTRY_URL: any(registry_key(key) == REGISTRY_URL for key in keys),
    }
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"{name}: each of the profiles names its own: leave it out, or name one profile"
            )


def clusters(
    arguments: argparse.Namespace, profiles: Mapping[str, Mapping[str, str]]
) -> list[NamedCluster]:
    """Return the clusters of several profiles."""
    from ottla.console.clusters import NamedCluster

    return [
        NamedCluster(name, servers_of_profile(keys), _Opening(arguments, name, keys))
        for name, keys in profiles.items()
    ]


class _Opening:
    """Makes the client and the context of a profile."""

    def __init__(self, arguments: argparse.Namespace, name: str, keys: Mapping[str, str]) -> None:
        self._arguments = argparse.Namespace(**{**vars(arguments), "profile": name})
        self._keys = keys

    def __call__(self, stack: ExitStack) -> Context:
        from ottla.console.routes.context import context_of

        name = self._arguments.profile
        if not any(config_row_of(key) == "bootstrap.servers" for key in self._keys):
            raise ConfigError(f"profile {name} has no bootstrap.servers: add them in {path()}")
        config = configuration(self._arguments, self._keys)
        registry, limits = registry_of(self._arguments, self._keys)
        check_schema_limits(limits)
        return context_of(
            # The console also shows an unreachable cluster.
            stack.enter_context(Client(config=config, connect=False)),
            allow_changes=self._arguments.allow_changes,
            registry=registry,
            limits=limits,
            arguments=cluster_arguments(self._arguments),
            name=name,
        )


def registry_of(
    arguments: argparse.Namespace, keys: Mapping[str, str] | None = None
) -> tuple[Registry | None, dict[str, Any]]:
    """Return the schema registry, and the limits of schemas.

    Args:
        arguments: the arguments.
        keys: the configuration of the profile. Default: that of the arguments.
    """
    config, limits = without_limits(registry_configuration(arguments, keys))
    if REGISTRY_URL not in config:
        return None, limits
    from ottla.schema import Registry

    return Registry(config), limits


def cluster_arguments(arguments: argparse.Namespace) -> list[str]:
    """Return the arguments for the commands that pages offer to copy, without -X (secrets)."""
    words = []
    if servers := arguments.bootstrap or arguments.brokers:
        words += ["-b", servers]
    if arguments.config is not None:
        words += ["--config", str(arguments.config)]
    if (name := arguments.profile) is not None:
        words += [f"--profile={name}"] if name.startswith("-") else ["--profile", name]
    return words
