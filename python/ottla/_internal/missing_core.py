"""The error for an installation whose compiled module can't be imported.

Used by ``ottla/__init__.py``. The usual cause is a wheel that was sent to Spark as an archive of
Python files. Invariant: imports nothing of ottla, and nothing that a broken installation lacks.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def explain_missing_core(error: ImportError) -> ImportError:
    """Return the error to raise: it names the cause, if it is known, or is ``error`` itself."""
    package = Path(__file__).parents[1]
    if not package.is_dir():
        return _missing(
            f"{package} is in an archive, and Python imports no compiled module from one. Install "
            "ottla with pip, or send a packed environment: with Spark, --archives in place of "
            "--py-files"
        )
    if any((package / f"_core{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        # The system's loader names what is missing, such as a newer C library.
        return error
    found = ", ".join(sorted(path.name for path in package.glob("_core*.*"))) or "none"
    return _missing(
        f"{package} has no compiled module for this Python and platform (found: {found}). Install "
        "ottla with pip on this kind of machine"
    )


def _missing(what: str) -> ImportError:
    return ImportError(f"ottla can't be imported: {what}", name="ottla._core")
