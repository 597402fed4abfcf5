"""Extras: the packages that parts of ottla need, and the error for one that is missing.

Invariant: the error names the extra to install. Finding out imports nothing: Spark imports ottla in
many short-lived processes.
"""

from __future__ import annotations

import importlib.util

PACKAGES = {
    "arrow": ("pyarrow",),
    "cli": ("rich",),
    "spark": ("pyspark", "pyarrow", "pandas"),
}
"""The packages of each extra in pyproject.toml."""


class MissingExtraError(ModuleNotFoundError):
    """A package of an extra is not installed, or too old."""

    def __init__(self, what: str, extra: str, name: str) -> None:
        package, _, module = name.partition(".")
        # The package is there without one of its modules.
        why = "of which a newer version is needed" if module else "which is not installed"
        super().__init__(f"{what} needs {package}, {why}: pip install 'ottla[{extra}]'", name=name)
        self.what = what
        self.extra = extra


def require(what: str, extra: str, *packages: str) -> None:
    """Check that packages of an extra are installed.

    Args:
        what: what needs them, for the message.
        extra: the extra's name.
        packages: the packages. Default: all of the extra.

    Raises:
        MissingExtraError: one is not installed.
    """
    for package in packages or PACKAGES[extra]:
        if not _is_installed(package):
            raise MissingExtraError(what, extra, package)


def explain(error: ModuleNotFoundError, what: str, extra: str) -> ModuleNotFoundError:
    """Return the error to raise for a missing module.

    It names the extra if the module belongs to one of its packages; otherwise it is ``error``.
    """
    name = error.name or ""
    if isinstance(error, MissingExtraError) or name.partition(".")[0] not in PACKAGES[extra]:
        return error
    return MissingExtraError(what, extra, name)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False
    except ValueError:  # it is imported, and has no spec
        return True
