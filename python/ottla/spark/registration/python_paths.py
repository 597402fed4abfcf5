"""Warns if the Python that Spark would start for ottla does not work, or differs from this one.

Called by ``register`` on the driver. For a Python data source, Spark starts one path both on the
driver, to plan, and on the executors, to read and write. Tasks of other Python functions start the
path in ``PYSPARK_PYTHON``. Invariant: a Python is started for the check only if its path differs
from this one's, and only on this machine; what other machines have is unknown and not reported.
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

_START_TIMEOUT = 20
"""Seconds that a Python may take to start."""

_ADVICE = (
    "set PYSPARK_PYTHON, and PYSPARK_DRIVER_PYTHON if it is set, to one path (or name on PATH) "
    "that is the right Python on the driver and on every executor, before Spark starts "
    '(docs/guides/spark-cluster.md, "Which Python Spark starts")'
)


class OtherPythonWarning(RuntimeWarning):
    """Spark would start a different Python from the one that runs this program."""


def warn_if_other_python(spark: SparkSession, path: str, stacklevel: int) -> None:
    """Warn unless ``path``, which Spark starts for ottla, is a Python that works."""
    task_python = str(spark.sparkContext.pythonExec)
    is_local = str(spark.sparkContext.master).split("[")[0] == "local"
    message = find_problem(path, task_python, is_local=is_local)
    if message is not None:
        warnings.warn(message, OtherPythonWarning, stacklevel=stacklevel + 1)


def find_problem(path: str, task_python: str, *, is_local: bool) -> str | None:
    """Return a description of the problem with ``path``, or None.

    Args:
        path: the Python that Spark starts for ottla.
        task_python: the Python that executors start for other functions.
        is_local: whether the executors are on this machine.
    """
    found = shutil.which(path)
    if found is None:
        return (
            f"Spark would start {path!r} to plan reads with ottla, and this machine has no such "
            f"program: {_ADVICE}"
        )
    started, this = _python_info(found), (sys.prefix, _version(sys.version_info))
    if started != this:
        description = (
            "which does not run" if started is None else f"Python {started[1]} of {started[0]}"
        )
        return (
            f"Spark would start {found!r} for ottla, {description}, while Python {this[1]} of "
            f"{this[0]} runs this program: both need the same minor version, and ottla; {_ADVICE}"
        )
    if path != task_python and not is_local:
        return (
            f"Spark would start {path!r} for ottla on the executors as well, but {task_python!r} "
            f"for their other tasks: if they have no {path!r}, every read and write fails "
            f"(except ottla.spark.read_arrow, which runs like other tasks); {_ADVICE}"
        )
    return None


def _python_info(path: str) -> tuple[str, str] | None:
    """Return the prefix and version of a Python; None if it does not run."""
    if os.path.abspath(path) == os.path.abspath(sys.executable):  # noqa: PTH100 (links count)
        return sys.prefix, _version(sys.version_info)
    # Another path may be the same environment: a link, or a shim on PATH such as pyenv's.
    program = "import sys; print(sys.prefix); print(*sys.version_info[:2], sep='.')"
    try:
        done = subprocess.run(  # noqa: S603 (Spark would start the same program)
            [path, "-c", program],
            capture_output=True,
            text=True,
            timeout=_START_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    prefix, version = done.stdout.splitlines()[-2:]
    return prefix, version


def _version(info: Sequence[object]) -> str:
    return f"{info[0]}.{info[1]}"
