"""The virtual environments of the suites: the client itself, pytest and what its tests import.

Both runs of a suite use the same environment. Its packages are pinned, with hashes, in
requirements/peers; an environment is created again when they change.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.environments import environment, interpreter
from tests.support.jars import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements" / "peers"


def python(name: str) -> Path:
    """Return the interpreter of an environment, which is created if needed."""
    requirements = REQUIREMENTS / f"{name}.txt"
    # Some packages that the suites import have no wheels.
    return interpreter(environment("peers", name, requirements, wheels_only=False))


def versions(name: str, *packages: str) -> dict[str, str]:
    """Return the pinned versions of packages."""
    pins = dict(
        line.split(" ")[0].split("==")
        for line in (REQUIREMENTS / f"{name}.txt").read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )
    return {package: pins[package] for package in packages}
