"""Spark as it was installed, but with PySpark in a directory instead of an archive.

Spark has its Python processes import PySpark from `python/lib/pyspark.zip`, out of which Python
compiles each module anew in each process: a second of CPU whenever one starts, and each streaming
query starts some. A directory of that name keeps what was compiled.
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
    """The value of SPARK_HOME, for this process and those that it starts."""
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
