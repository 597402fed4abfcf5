"""Which Python Spark would start for ottla, and a warning where that cannot work or is another.

Called by ``register`` on the driver. Spark starts one path for a Python data source on the driver,
to plan, and on the executors, to read and write; tasks of other Python functions start the path in
``PYSPARK_PYTHON``. Invariant: a Python is started to find out only where its path is another, and
none on another machine: what executors have is not known, and not said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Seconds for a Python to start.
_PATIENCE = 20

_ADVICE = (
    "set PYSPARK_PYTHON, and PYSPARK_DRIVER_PYTHON if it is set, to one path (or name on PATH) "
    "that is the right Python on the driver and on every executor, before Spark starts "
    '(docs/guides/spark.md, "Which Python Spark starts")'
)


class OtherPythonWarning(RuntimeWarning):
    """Spark would start another Python than the one that runs this program."""


def warn_of_another_python(spark: SparkSession, path: str, stacklevel: int) -> None:
    """Warn unless ``path``, which Spark starts for ottla, is a Python that can do it."""
    of_tasks = str(spark.sparkContext.pythonExec)
    everywhere_here = str(spark.sparkContext.master).split("[")[0] == "local"
    message = explain(path, of_tasks, everywhere_here=everywhere_here)
    if message is not None:
        warnings.warn(message, OtherPythonWarning, stacklevel=stacklevel + 1)


def explain(path: str, of_tasks: str, *, everywhere_here: bool) -> str | None:
    """What is wrong with ``path``; ``of_tasks`` is what executors start for other functions.

    ``everywhere_here`` says that the executors are on this machine, too.
    """
    found = shutil.which(path)
    if found is None:
        return (
            f"Spark would start {path!r} to plan what ottla reads, and this machine has no such "
            f"program: {_ADVICE}"
        )
    if (other := _environment(found)) != (own := (sys.prefix, _version(sys.version_info))):
        started = "which does not run" if other is None else f"Python {other[1]} of {other[0]}"
        return (
            f"Spark would start {found!r} for ottla, {started}, while Python {own[1]} of {own[0]} "
            f"runs this program: it needs the same minor version, and ottla; {_ADVICE}"
        )
    if path != of_tasks and not everywhere_here:
        return (
            f"Spark would start {path!r} for ottla on the executors as well, but {of_tasks!r} for "
            f"their other tasks: if they have no {path!r}, every read and write fails "
            f"(ottla.spark.read_arrow does not, which runs there as other tasks do); {_ADVICE}"
        )
    return None


def _environment(path: str) -> tuple[str, str] | None:
    """The prefix and the version of a Python; None if it does not run."""
    if os.path.abspath(path) == os.path.abspath(sys.executable):  # noqa: PTH100 (links count)
        return sys.prefix, _version(sys.version_info)
    # Other paths may be the same environment: links, and what pyenv and others put on PATH.
    program = "import sys; print(sys.prefix); print(*sys.version_info[:2], sep='.')"
    try:
        done = subprocess.run(  # noqa: S603 (what Spark itself would start)
            [path, "-c", program], capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    prefix, version = done.stdout.splitlines()[-2:]
    return prefix, version


def _version(info: Sequence[object]) -> str:
    return f"{info[0]}.{info[1]}"
