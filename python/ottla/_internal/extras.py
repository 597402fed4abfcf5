"""The optional packages of ottla (extras), and the error for a missing one.

Invariants: the error names the extra to install; checking for a package does not import it, because
Spark imports ottla in many short-lived processes.
"""

from __future__ import annotations

import importlib.util

PACKAGES = {
    "arrow": ("pyarrow",),
    "otel": ("opentelemetry",),
    "cli": ("rich", "argcomplete"),
    "console": ("starlette", "uvicorn", "h11", "anyio"),
    "aws": ("botocore",),
    "gcp": ("google", "requests"),
    "json-validation": ("jsonschema_rs",),
    "polars": ("polars",),
    "duckdb": ("duckdb", "pyarrow"),
    "ray": ("ray", "pandas", "pyarrow"),
    "dask": ("dask", "pandas", "pyarrow"),
    "spark": ("pyspark", "pyarrow", "pandas"),
}
"""The packages of each extra in pyproject.toml."""


class MissingExtraError(ModuleNotFoundError):
    """A package of an extra is not installed, or too old."""

    def __init__(self, what: str, extra: str, name: str) -> None:
        package, _, module = name.partition(".")
        # If only a module is missing, the installed package is too old.
        missing = (
            f"a newer version of {package}" if module else f"{package}, which is not installed"
        )
        super().__init__(f"{what} needs {missing}: pip install 'ottla[{extra}]'", name=name)
        self.what = what
        self.extra = extra


def require(what: str, extra: str, *packages: str) -> None:
    """Check that packages of an extra are installed.

    Args:
        what: the feature that needs them, for the message.
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

    It names the extra if the module belongs to one of its packages; otherwise ``error`` is
    returned.
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
    except ValueError:  # it is imported, but has no spec
        return True
