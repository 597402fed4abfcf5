"""What a row runs: an interpreter, variables, and pytest's arguments, with the exact version.

Invariant: a row runs the gate's own selection (tests/gate/selections.py). Only the version differs.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate.selections import SELECTIONS
from tests.matrix.rows import FREE_THREADED, REQUIREMENTS, Row, kafka_line
from tests.support import kafka_releases
from tests.support.environments import environment, interpreter, packages, site_packages
from tests.support.interpreters import installed
from tests.support.jars import REPOSITORY, spark_jars

GROUP = "matrix"
"""The directory of the rows' environments in .ottla-build/environments."""


class NotOnThisMachineError(RuntimeError):
    """A row needs what this machine does not have; the message says what."""


@dataclass(frozen=True)
class Suite:
    """The tests of a row.

    Attributes:
        version: the exact version.
        python: the interpreter.
        arguments: pytest's.
        env: variables beside those of this process.
    """

    version: str
    python: Path
    arguments: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


def suite(row: Row) -> Suite:
    """Return the tests of a row, after fetching what they need.

    Raises:
        NotOnThisMachineError: there is no such interpreter.
        subprocess.CalledProcessError: packages or jars could not be fetched.
    """
    if row.subject == "Python":
        return _on_python(row)
    return _with_spark(row) if row.subject == "Spark" else _with_kafka(row)


def environment_of(version: str, requirements: Path, name: str) -> Path:
    """Return the interpreter of an environment of another Python, with this tree's ottla.

    Args:
        version: the version of Python, such as `3.13`.
        requirements: its packages.
        name: the name of the environment.

    Raises:
        NotOnThisMachineError: there is no such interpreter.
    """
    python = installed().get(version)
    if python is None:
        raise NotOnThisMachineError(f"there is no Python {version}: install it, or put it on PATH")
    sources = [REPOSITORY / "python"]
    # pyspark has no wheel.
    return interpreter(
        environment(GROUP, name, requirements, sources, wheels_only=False, python=python)
    )


def _on_python(row: Row) -> Suite:
    running = "{}.{}".format(*sys.version_info[:2])
    if row.version in FREE_THREADED:
        return _free_threaded(row)
    if row.version == running:
        return Suite(platform.python_version(), Path(sys.executable), SELECTIONS["test-python"])
    python = environment_of(row.version, REQUIREMENTS / "dev.txt", row.name)
    install_metadata(python)
    return Suite(_version_of(python), python, SELECTIONS["test-python"])


def _free_threaded(row: Row) -> Suite:
    # Its extension is another one than the tree's, and only its own environment has it.
    raise NotOnThisMachineError(
        f"Python {row.version} needs an extension of its own: the workflow builds it, and runs"
        " `python -m tests.threads`"
    )


def _with_spark(row: Row) -> Suite:
    selection = SELECTIONS["test-spark"]
    if row.in_gate:
        _jars(spark_jars(row.version), kafka_releases.CURRENT)
        version = importlib.metadata.version("pyspark")
        return Suite(version, Path(sys.executable), selection)
    _jars(spark_jars(row.version), kafka_releases.CURRENT)
    requirements = REQUIREMENTS / GROUP / f"pyspark-{row.version}.txt"
    # In front of the tests' own packages.
    first = packages(GROUP, row.name, requirements, wheels_only=False)
    paths = [str(first), *filter(None, [os.environ.get("PYTHONPATH")])]
    [found] = importlib.metadata.distributions(name="pyspark", path=[str(first)])
    return Suite(
        found.version, Path(sys.executable), selection, {"PYTHONPATH": os.pathsep.join(paths)}
    )


def _with_kafka(row: Row) -> Suite:
    [release] = [each for each in kafka_releases.RELEASES if kafka_line(each) == row.version]
    # Without tests/security: its listeners are of the current release.
    older = [each for each in SELECTIONS["test-broker"] if each != "tests/security"]
    _jars(release, kafka_releases.CURRENT, kafka_releases.OLDEST)
    arguments = SELECTIONS["test-broker"] if row.in_gate else older
    version, env = kafka_releases.version(release), {kafka_releases.VARIABLE: release}
    return Suite(version, Path(sys.executable), arguments, env)


def _jars(*names: str) -> None:
    subprocess.run([REPOSITORY / "tools" / "jars.sh", *names], check=True)


def _version_of(python: Path) -> str:
    command = [str(python), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def install_metadata(python: Path) -> None:
    """Give an environment ottla's metadata: pytest finds its plugin, and programs its version."""
    ours = importlib.metadata.distribution("ottla")
    folder = site_packages(python.parent.parent) / f"ottla-{ours.version}.dist-info"
    folder.mkdir(exist_ok=True)
    for name in ("METADATA", "entry_points.txt"):
        (folder / name).write_text(ours.read_text(name) or "")
