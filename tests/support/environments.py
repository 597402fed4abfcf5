"""Virtual environments with pinned packages from PyPI, apart from the one of the tests.

    environment("frameworks", "celery", path, [REPOSITORY / "python"])

Each is a directory .ottla-build/environments/GROUP/NAME. Invariants: packages are exactly those of
the file, with their hashes; an environment is up to date if its stamp says so,
which is written last; two processes do not create the same one at the same time.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.jars import REPOSITORY

ENVIRONMENTS = REPOSITORY / ".ottla-build" / "environments"
_ATTEMPTS = 3
_PAUSE = 2.0
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
_PINNED = ("--require-hashes",)
_WHEELS = ("--only-binary", ":all:")


def environment(
    group: str,
    name: str,
    requirements: Path,
    paths: Sequence[Path] = (),
    *,
    wheels_only: bool = True,
    python: Path | None = None,
) -> Path:
    """Return a virtual environment, which is created if it is missing or out of date.

    Args:
        group: the directory of its kind.
        name: its own directory.
        requirements: the packages, all pinned with hashes.
        paths: directories for its `sys.path`, behind the packages.
        wheels_only: whether to refuse packages that have to be built.
        python: the interpreter that it is made with; by default, the one that runs this.

    Raises:
        subprocess.CalledProcessError: the packages could not be installed in three attempts.
    """

    def create(directory: Path) -> None:
        subprocess.run([python or sys.executable, "-m", "venv", str(directory)], check=True)
        own = str(interpreter(directory))
        pinned = (*_PINNED, *(_WHEELS if wheels_only else ()))
        subprocess.run([own, *_PIP, *pinned, "-r", str(requirements)], check=True)
        if paths:
            lines = "".join(f"{path}\n" for path in paths)
            (site_packages(directory) / "tree.pth").write_text(lines)

    details = [str(path) for path in paths]
    if python is not None:
        details.append(_print(python, "__import__('sys').version"))
    return _current(group, name, requirements, details, create)


def packages(group: str, name: str, requirements: Path, *, wheels_only: bool = True) -> Path:
    """Return a directory of packages for PYTHONPATH, which is created as an environment is."""

    def create(directory: Path) -> None:
        pinned = (*_PINNED, *(_WHEELS if wheels_only else ()))
        target = ("--target", str(directory), "-r", str(requirements))
        subprocess.run([sys.executable, *_PIP, *pinned, *target], check=True)

    return _current(group, name, requirements, [], create)


def interpreter(directory: Path) -> Path:
    """Return the interpreter of an environment."""
    return directory / "bin" / "python"


def site_packages(directory: Path) -> Path:
    """Return the directory of an environment's packages."""
    return Path(_print(interpreter(directory), "__import__('sysconfig').get_path('purelib')"))


def _print(python: Path, expression: str) -> str:
    command = [str(python), "-c", f"print({expression})"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _current(
    group: str,
    name: str,
    requirements: Path,
    details: Sequence[str],
    create: Callable[[Path], None],
) -> Path:
    """Return a directory that is up to date; create it unless its stamp says that it is."""
    directory = ENVIRONMENTS / group / name
    directory.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    # A virtual environment does not work from another directory.
    wanted = "\n".join([sys.version, digest, str(directory), *details])
    stamp = directory.with_name(f"{name}.stamp")
    with directory.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return directory
        print(f"installing the packages of {requirements}", flush=True)
        stamp.unlink(missing_ok=True)
        for attempt in range(1, _ATTEMPTS + 1):
            shutil.rmtree(directory, ignore_errors=True)
            try:
                create(directory)
            except subprocess.CalledProcessError:
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE * attempt)
            else:
                break
        stamp.write_text(wanted)
    return directory
