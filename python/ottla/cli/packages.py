"""The packages of extras, which few commands need: mostly of ``cli``."""

from __future__ import annotations

from ottla._internal import extras
from ottla.errors import ConfigError


def require(what: str, package: str, extra: str = "cli") -> None:
    """Check that a package is installed.

    Raises:
        ConfigError: the package is not installed; the message names the extra.
    """
    try:
        extras.require(what, extra, package)
    except extras.MissingExtraError as error:
        raise ConfigError(str(error)) from None
