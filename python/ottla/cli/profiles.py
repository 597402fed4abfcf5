"""Profiles: named configurations in one file, as in ``ottla --profile prod topics list``.

The file is ``~/.config/ottla/profiles.ini`` (below ``$XDG_CONFIG_HOME`` if that is set), or the one
that ``$OTTLA_PROFILES`` names. Each section is a profile with configuration keys::

    [prod]
    bootstrap.servers = kafka1:9092,kafka2:9092
    security.protocol = SASL_SSL

A command without ``--profile`` uses the profile that ``$OTTLA_PROFILE`` names, or ``default`` if
the file has one. Invariant: credentials are never sent to another cluster: if the command line
names a cluster, only a profile that it names is used.
"""

from __future__ import annotations

import configparser
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ottla._core import config_row_of, config_rows
from ottla._internal.text import reason
from ottla.cli.messages import say
from ottla.cli.registry_keys import is_registry_secret
from ottla.errors import ConfigError

_DEFAULT = "default"


def path() -> Path:
    """Return the path of the file, which may not exist."""
    if named := os.environ.get("OTTLA_PROFILES"):
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "ottla" / "profiles.ini"


def read_profiles(*, warns: bool = True) -> dict[str, dict[str, str]]:
    """Return the configurations by name; empty if there is no file.

    Args:
        warns: whether to warn about secrets that others can read.

    Raises:
        ConfigError: the file cannot be read.
    """
    file = path()
    parser = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, default_section="", empty_lines_in_values=False
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keys of aliases have case
    try:
        with file.open(encoding="utf-8") as stream:
            parser.read_file(stream)
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    except FileNotFoundError:
        return {}
    except configparser.Error as error:
        # The original message contains the line, which may be a secret.
        where = getattr(error, "lineno", None) or _line_of(error)
        raise ConfigError(
            f"profiles in {file}: {type(error).__name__}{f' in line {where}' if where else ''}: "
            "expected [profile] and KEY = VALUE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"profiles in {file}: {reason(error)}") from error
    profiles = {name: dict(parser[name]) for name in parser.sections()}
    if warns and mode & (stat.S_IRGRP | stat.S_IROTH) and _has_secrets(profiles):
        say(f"{file} has secrets and others can read it: chmod 600", "warning")
    return profiles


def _line_of(error: configparser.Error) -> int | None:
    errors = getattr(error, "errors", None)
    return errors[0][0] if errors else None


def _has_secrets(profiles: dict[str, dict[str, str]]) -> bool:
    secrets = {name for name, kind, *_ in config_rows() if kind == "password"}
    return any(
        config_row_of(key) in secrets or is_registry_secret(key, value)
        for keys in profiles.values()
        for key, value in keys.items()
    )


def profile(name: str | None, *, has_cluster: bool, warns: bool = True) -> dict[str, str]:
    """Return the configuration of a profile.

    Args:
        name: the profile's name; None for the one that ``$OTTLA_PROFILE`` names, or ``default``.
        has_cluster: whether the command line names a cluster. If it does, only a profile that it
            names is used.
        warns: whether to warn about secrets that others can read.

    Raises:
        ConfigError: the file cannot be read, or has no such profile.
    """
    if name is None and has_cluster:
        return {}
    wanted = name or os.environ.get("OTTLA_PROFILE")
    profiles = read_profiles(warns=warns)
    if wanted is None:
        return profiles.get(_DEFAULT, {})
    return named_profile(wanted, profiles)


def named_profile(name: str, profiles: Mapping[str, dict[str, str]]) -> dict[str, str]:
    """Return the configuration of a profile of the file.

    Raises:
        ConfigError: the file has no such profile.
    """
    if name not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        raise ConfigError(f"profile {name} does not exist: {path()} has {known}")
    return profiles[name]
