"""The installed Spark, with PySpark in a directory instead of an archive.

Spark's Python processes import PySpark from `python/lib/pyspark.zip`, from which Python compiles
each module again in each process: a second of CPU per start, and each streaming query starts
several. A directory of that name caches the compiled modules.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import shutil
import tempfile
from pathlib import Path


@functools.cache
def spark_home() -> str:
    """Return the value of SPARK_HOME, for this process and its children."""
    installed = _directory_of("pyspark")
    home = Path(tempfile.mkdtemp(prefix="ottla-spark-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for part in installed.iterdir():
        if part.name != "python":
            (home / part.name).symlink_to(part)
    for archive in (installed / "python" / "lib").iterdir():
        name = archive.name.removesuffix("-src.zip").removesuffix(".zip").split("-")[0]
        package = home / "python" / "lib" / archive.name
        package.mkdir(parents=True)
        (package / name).symlink_to(_directory_of(name))
    return str(home)


def _directory_of(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(package)
    return Path(found.origin).parent
