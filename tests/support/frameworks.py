"""Environments of frameworks that use another Kafka client, and programs in them.

    with Framework("celery").start("command", "confluent_kafka", "-m", "celery", …) as worker:
        worker.wait_for("ready")

An environment has the packages of requirements/frameworks/NAME.txt and ottla from this tree, but
none of the other clients: a program that imports one gets ottla's, or fails.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tests.support.jars import REPOSITORY
from tests.support.programs import TIMEOUT, Program

_ENVIRONMENTS = REPOSITORY / ".ottla-build" / "frameworks"
EXAMPLES = REPOSITORY / "tests" / "frameworks" / "examples"
_WITHOUT_OTTLA = EXAMPLES.with_name("without_ottla")
_CREATION_TIMEOUT = 900

Client: TypeAlias = Literal["confluent_kafka", "aiokafka", "kafka"]
Way: TypeAlias = Literal["command", "program", "original"]
"""How a program gets its client.

``command``: by `python -m ottla.compat`; ``program``: it asks for ottla's itself, by an import or
by `install()`; ``original``: the client itself, and `install()` does nothing.
"""


class Framework:
    """The environment of one framework."""

    def __init__(self, name: str) -> None:
        """Create it unless it exists."""
        subprocess.run(
            ["tools/frameworks.sh", name, "originals"],
            cwd=REPOSITORY,
            check=True,
            timeout=_CREATION_TIMEOUT,
        )
        self.name = name
        self.directory = _ENVIRONMENTS / name
        self.python = str(self.directory / "bin" / "python")

    def command(self, way: Way, client: Client, program: Sequence[str]) -> list[str]:
        """Return the command that runs a program: a file with arguments, or `-m` and a module."""
        if way == "command":
            return [self.python, "-m", "ottla.compat", client, *program]
        return [self.python, *program]

    def start(
        self,
        way: Way,
        client: Client,
        *program: str,
        env: Mapping[str, str] | None = None,
        directory: Path = EXAMPLES,
    ) -> Program:
        """Start a program; a file's name is relative to the directory, by default the examples."""
        environment = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            **(env or {}),
        }
        # The paths of the tests themselves do not belong to the program.
        environment.pop("PYTHONPATH", None)
        if way == "original":
            originals = _ENVIRONMENTS / "originals"
            environment["PYTHONPATH"] = f"{_WITHOUT_OTTLA}{os.pathsep}{originals}"
        return Program(self.command(way, client, program), directory, environment)

    def run(
        self,
        way: Way,
        client: Client,
        *program: str,
        env: Mapping[str, str] | None = None,
        directory: Path = EXAMPLES,
        timeout: float = TIMEOUT,
    ) -> str:
        """Run a program to its end, check that it succeeds, and return its output."""
        with self.start(way, client, *program, env=env, directory=directory) as started:
            return started.end(timeout=timeout)
