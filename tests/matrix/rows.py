"""The rows of the matrix, derived from the versions that the project names elsewhere.

Invariant: no version is written here. Python's are the classifiers of the package, Spark's the
files requirements/matrix/pyspark-*.txt and the release of dev.txt, Kafka's the sets of jars.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.support import kafka_releases
from tests.support.interpreters import supported
from tests.support.jars import REPOSITORY

Subject: TypeAlias = Literal["Python", "Spark", "Kafka"]
SUBJECTS: tuple[Subject, ...] = ("Python", "Spark", "Kafka")
REQUIREMENTS = REPOSITORY / "requirements"
FREE_THREADED = ("3.14t",)
"""Pythons without a global lock, on which only tests/threads runs: the tests' packages lack it.

PyO3 0.30 builds for none before 3.14.
"""


@dataclass(frozen=True)
class Row:
    """A version of a subject.

    Attributes:
        subject: what there are versions of.
        version: the line of releases, such as `3.13`.
        in_gate: whether the gate runs its tests with every change.
    """

    subject: Subject
    version: str
    in_gate: bool = False

    @property
    def name(self) -> str:
        """The name, such as `python-3.13`."""
        return f"{self.subject.lower()}-{self.version}"


def rows() -> list[Row]:
    """Return all rows by subject, the oldest version first."""
    gate = (REPOSITORY / ".github" / "workflows" / "gate.yml").read_text()
    [python] = set(re.findall(r'python-version: "([\d.]+)"', gate))
    pythons = [Row("Python", version, version == python) for version in supported()]
    pythons += [Row("Python", version) for version in FREE_THREADED]
    sparks = [Row("Spark", version) for version in sorted(_pysparks())]
    kafkas = [
        Row("Kafka", kafka_line(release), release == kafka_releases.CURRENT)
        for release in kafka_releases.RELEASES
    ]
    return [*pythons, *sparks, Row("Spark", _line(current_pyspark()), in_gate=True), *kafkas]


def current_pyspark() -> str:
    """Return the newest release of PySpark, which the gate runs."""
    pinned = (REQUIREMENTS / "dev.in").read_text()
    found: list[str] = re.findall(r"^pyspark==([\d.]+)", pinned, re.MULTILINE)
    return max(found, key=_line)


def kafka_line(release: str) -> str:
    """Return the line of a set of jars, such as `4.4`; the jars need not be there."""
    if release != kafka_releases.CURRENT:
        return release.removeprefix("kafka-")
    pom = (REPOSITORY / "tests" / "kafka" / "pom.xml").read_text()
    [version] = re.findall(r"<kafka\.version>([\d.]+)<", pom)
    return _line(version)


def _pysparks() -> list[str]:
    return [
        file.stem.removeprefix("pyspark-")
        for file in (REQUIREMENTS / "matrix").glob("pyspark-*.txt")
    ]


def _line(version: str) -> str:
    return ".".join(version.split(".")[:2])
