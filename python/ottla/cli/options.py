"""Options of all commands: the cluster's address, and the configuration from files and arguments.

``--config`` overrides the profile, ``-X`` overrides both, and an address on the command line
overrides all.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ottla import Client
from ottla._core import config_row_of, read_properties
from ottla._internal.style import Style
from ottla._internal.text import reason
from ottla.cli.profiles import profile
from ottla.cli.registry_keys import REGISTRY_URL, registry_key
from ottla.cli.waiting import report_waiting
from ottla.errors import ConfigError

_SERVERS, _CONTROLLERS = "bootstrap.servers", "bootstrap.controllers"
_PROFILE = "a profile with the address and the configuration"


def add_cluster(
    parser: argparse.ArgumentParser, *, positional: bool = True, several: bool = False
) -> None:
    """Add the arguments for the cluster's address and for the configuration.

    Args:
        parser: the parser of a command.
        positional: whether the address may be a positional argument. It may not if names are.
        several: whether ``--profile`` may be repeated. Those that follow the command are then the
            list ``profiles``.
    """
    where = "host:port, or several with commas"
    if positional:
        parser.add_argument("bootstrap", nargs="?", metavar="BOOTSTRAP", help=where)
        where = "the same as BOOTSTRAP"
    else:
        parser.set_defaults(bootstrap=None)
    parser.add_argument("-b", "--brokers", dest="brokers", help=where)
    parser.add_argument(
        "--bootstrap-controller",
        dest="controllers",
        metavar="ADDRESS",
        help="KRaft controllers to talk to instead of brokers: host:port, or several with commas",
    )
    parser.add_argument(
        "-X",
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a configuration key by Kafka's dotted name; may be repeated",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a properties file, or a TOML file (.toml)"
    )
    # The option may also precede the command. A default here would overwrite that value.
    if several:
        add_profiles(parser)
    else:
        add_profile(parser, default=argparse.SUPPRESS)


def add_json(parser: argparse.ArgumentParser, description: str = "print JSON") -> None:
    """Add the argument ``--json``."""
    parser.add_argument("--json", action="store_true", help=description)


def add_profile(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the argument for the profile."""
    parser.add_argument("--profile", metavar="NAME", default=default, help=_PROFILE)


def add_profiles(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for several profiles."""
    parser.add_argument(
        "--profile",
        dest="profiles",
        action="append",
        default=[],
        metavar="NAME",
        help=f"{_PROFILE}; may be repeated, for several clusters",
    )
    parser.add_argument(
        "--all-profiles", action="store_true", help="show the clusters of all profiles"
    )


def record_count(text: str) -> int:
    """Parse the argument of -c, which must not be negative."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of records, 0 or more, got {text!r}")
    return int(text)


def configuration(
    arguments: argparse.Namespace, keys: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the configuration of a command, without the keys of schemas and their registries.

    Args:
        arguments: the arguments of the command.
        keys: the configuration of the profile. Default: that of the arguments.

    Raises:
        ConfigError: a file cannot be read, a profile is missing, a -X has no ``=``, or there is no
            address.
    """
    given: dict[str, Any] = {}
    if arguments.config is not None:
        file = read_config(arguments.config)
        given = {key: value for key, value in file.items() if registry_key(key) is None}
    for key, value in settings_of(arguments):
        # A command without a registry keeps the key, and the client refuses it.
        if registry_key(key) is None or not hasattr(arguments, "schema_registry"):
            put(given, key, value)
    servers, controllers = arguments.bootstrap or arguments.brokers, arguments.controllers
    if servers and controllers:
        raise ConfigError("--bootstrap-controller and an address of brokers: give one of them")
    if servers or controllers:
        _put_addresses(given, _SERVERS if servers else _CONTROLLERS, servers or controllers)
    own = keys
    if own is None:
        own = profile(arguments.profile, has_cluster=_has_cluster(given))
    config: dict[str, Any] = {k: value for k, value in own.items() if registry_key(k) is None}
    for key, value in given.items():
        if config_row_of(key) in (_SERVERS, _CONTROLLERS):
            _put_addresses(config, key, value)
        else:
            put(config, key, value)
    if not _has_cluster(config):
        raise ConfigError(
            "no broker address: give BOOTSTRAP or -b (host:port), or bootstrap.servers in --config "
            "or --profile"
        )
    return config


def registry_configuration(
    arguments: argparse.Namespace, keys: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the keys of schemas and their registry of a command that has ``--schema-registry``.

    The keys have their full names. If the command line names a cluster or a registry, only a
    profile that it names is used.

    Args:
        arguments: the arguments of the command.
        keys: the configuration of the profile. Default: that of the arguments.

    Raises:
        ConfigError: as ``configuration``.
    """
    given: dict[str, Any] = {}
    names_cluster = arguments.bootstrap or arguments.brokers or arguments.controllers
    file = {} if arguments.config is None else read_config(arguments.config)
    for key, value in [*file.items(), *settings_of(arguments)]:
        if (name := registry_key(key)) is not None:
            given[name] = value
        names_cluster = names_cluster or _has_cluster({key: value})
    if arguments.schema_registry is not None:
        given[REGISTRY_URL] = arguments.schema_registry
    has_place = bool(names_cluster) or REGISTRY_URL in given
    own = keys
    if own is None:
        own = profile(arguments.profile, has_cluster=has_place, warns=False)
    names = {key: registry_key(key) for key in own}
    return {name: own[key] for key, name in names.items() if name is not None} | given


def settings_of(arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of -X.

    Raises:
        ConfigError: an argument has no ``=``.
    """
    for number, pair in enumerate(arguments.settings, 1):
        key, separator, value = pair.partition("=")
        if not separator:
            # The argument is not shown, since it may be a secret.
            raise ConfigError(f"-X: expected KEY=VALUE, but argument {number} of -X has no =")
        yield key.strip(), value


def _has_cluster(config: Mapping[str, Any]) -> bool:
    rows = (_SERVERS, _CONTROLLERS)
    return any(value for key, value in config.items() if config_row_of(key) in rows)


def _put_addresses(config: dict[str, Any], key: str, value: Any) -> None:
    """Set the addresses of brokers or controllers, and remove those of the others."""
    row = config_row_of(key)
    for name in [
        name for name in config if config_row_of(name) in {_SERVERS, _CONTROLLERS} - {row}
    ]:
        del config[name]
    put(config, key, value)


def put(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a key, and remove the value that another client's name for the same key has."""
    row = config_row_of(key)
    for name in [name for name in config if row is not None and config_row_of(name) == row]:
        del config[name]
    config[key] = value


def connect(
    arguments: argparse.Namespace,
    timeout: float | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Client:
    """Return a connected client of the cluster that the arguments name.

    Args:
        arguments: the arguments of the command.
        timeout: as for ``Client``.
        defaults: configuration that the arguments may replace.
    """
    config = {**(defaults or {}), **configuration(arguments)}
    with report_waiting(lambda: f"a response from {servers_of(config)}"):
        return Client(config=config, timeout=timeout)


def servers_of(config: Mapping[str, Any]) -> Any:
    """Return the addresses of brokers or controllers in one from ``configuration()``."""
    rows = (_SERVERS, _CONTROLLERS)
    return next(value for key, value in config.items() if value and config_row_of(key) in rows)


def read_config(path: Path) -> dict[str, Any]:
    """Read a configuration file: TOML if its name ends with ``.toml``, else Java properties."""
    if path.suffix == ".toml":
        return _read_toml(path)
    try:
        return dict(read_properties(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        raise ConfigError(f"--config {path}: {reason(error)}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        # In the standard library since Python 3.11.
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:
        raise ConfigError(
            f"--config {path}: TOML needs Python 3.11; use a properties file"
        ) from error
    try:
        return dict(_flat(tomllib.loads(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"--config {path}: {reason(error)}") from error


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested tables to dotted names: in TOML, ``linger.ms`` is a key in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def style() -> Style:
    """Return the style for standard output: colours on terminals only, unless NO_COLOR is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = sys.stdout.isatty() and not plain
    try:
        "✓✗├─└│".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return Style(color=color, ascii=True)
    return Style(color=color)
