"""Environments of frameworks that use another Kafka client, and programs in them.

    python -m tests.support.frameworks

    with Framework("celery").start("command", "confluent_kafka", "-m", "celery", …) as worker:
        worker.wait_for("ready")

The command creates all environments. An environment has the packages of
requirements/frameworks/NAME.txt and ottla from this tree, but none of the other
clients: a program that imports one gets ottla's, or fails.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from tests.support.environments import environment, interpreter, packages
from tests.support.jars import REPOSITORY
from tests.support.programs import TIMEOUT, Program

_REQUIREMENTS = REPOSITORY / "requirements" / "frameworks"
_ORIGINALS = _REQUIREMENTS / "originals.txt"
EXAMPLES = REPOSITORY / "tests" / "frameworks" / "examples"
_WITHOUT_OTTLA = EXAMPLES.with_name("without_ottla")

Client: TypeAlias = Literal["confluent_kafka", "aiokafka", "kafka"]
Way: TypeAlias = Literal["command", "program", "original"]
"""How a program gets its client.

``command``: by `python -m ottla.compat`; ``program``: it asks for ottla's itself, by an import or
by `install()`; ``original``: the client itself, and `install()` does nothing.
"""


class Framework:
    """The environment of one framework."""

    def __init__(self, name: str) -> None:
        """Create it unless it exists, with a directory of the original clients."""
        self.originals = packages("frameworks", "originals", _ORIGINALS)
        self.name = name
        self.directory = environment(
            "frameworks", name, _REQUIREMENTS / f"{name}.txt", [REPOSITORY / "python"]
        )
        self.python = str(interpreter(self.directory))

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
        variables = {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            **(env or {}),
        }
        # The paths of the tests themselves do not belong to the program.
        variables.pop("PYTHONPATH", None)
        if way == "original":
            variables["PYTHONPATH"] = f"{_WITHOUT_OTTLA}{os.pathsep}{self.originals}"
        return Program(self.command(way, client, program), directory, variables)

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


if __name__ == "__main__":
    for file in sorted(_REQUIREMENTS.glob("*.txt")):
        if file != _ORIGINALS:
            Framework(file.stem)
