"""The packages of the extra ``cli``, which few commands need."""

from __future__ import annotations

from ottla._internal import extras
from ottla.errors import ConfigError


def require(what: str, package: str) -> None:
    """Check that a package is installed.

    Raises:
        ConfigError: the package is not installed; the message names the extra.
    """
    try:
        extras.require(what, "cli", package)
    except extras.MissingExtraError as error:
        raise ConfigError(str(error)) from None
