"""The Pythons of this machine that ottla supports: those on PATH, and those of pyenv.

    python -m tests.support.interpreters       # prints a path a line

Invariant: one interpreter a version, that can make virtual environments. A free-threaded one is a
version of its own, such as `3.14t`. Only the standard library is used: tools/wheel.sh runs this in
an environment for building.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

_QUESTION = """
import sys, sysconfig, venv, ensurepip
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
print("%d.%d" % sys.version_info[:2] + "t" * free_threaded)
"""


def supported() -> list[str]:
    """Return the versions of Python that the package names, oldest first."""
    project = (REPOSITORY / "pyproject.toml").read_text()
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)


def installed() -> dict[str, Path]:
    """Return the interpreters by version, such as `3.13` or `3.14t`."""
    found: dict[str, Path] = {}
    for path in _candidates():
        version = _version(path)
        if version is not None and version.removesuffix("t") in supported():
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def _candidates() -> Iterator[Path]:
    for version in supported():
        for name in (f"python{version}", f"python{version}t"):
            if path := shutil.which(name):
                yield Path(path)
    yield from sorted(Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3"))


def _version(python: Path) -> str | None:
    """Return the version, or None if the interpreter does not run or makes no environments."""
    # A shim of pyenv fails if no version is selected.
    done = subprocess.run([python, "-c", _QUESTION], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _order(version: str) -> tuple[int, str]:
    return int(version.removesuffix("t").partition(".")[2]), version


if __name__ == "__main__":
    print("\n".join(map(str, installed().values())))
