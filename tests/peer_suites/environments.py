"""The virtual environments of the suites: the client itself, pytest and what its tests import.

Both runs of a suite use the same environment. Its packages are pinned, with hashes, in
requirements/peers; an environment is made again when they change.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.peer_suites.sources import PEERS
from tests.support.jars import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements" / "peers"


def python(name: str) -> Path:
    """Return the interpreter of an environment, which is made if it is missing or out of date."""
    requirements = REQUIREMENTS / f"{name}.txt"
    wanted = f"{sys.version}\n{hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"
    directory = PEERS / f"venv-{name}"
    interpreter, stamp = directory / "bin" / "python", directory / "ottla.stamp"
    if stamp.exists() and stamp.read_text() == wanted:
        return interpreter
    print(f"installing {requirements.relative_to(REPOSITORY)}", flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", str(requirements)], check=True)
    stamp.write_text(wanted)
    return interpreter


def versions(name: str, *packages: str) -> dict[str, str]:
    """Return the pinned versions of packages."""
    pins = dict(
        line.split(" ")[0].split("==")
        for line in (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )
    return {package: pins[package] for package in packages}
