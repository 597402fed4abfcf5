"""The metadata of the clients that ``install`` was called for, for ``importlib.metadata``.

Frameworks ask for a client's version there, also where the client itself is not installed.
Invariant: the version is the one whose interface the stand-in has, as in its ``__version__``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.metadata import Distribution
from pathlib import Path

_MODULES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}


class _StandInDistribution(Distribution):
    """The name and version of a client; it has no files."""

    def __init__(self, name: str, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "top_level.txt": f"{_MODULES[name]}\n",
        }

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        return self._texts.get(os.fspath(filename))

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).with_name(os.fspath(path))


def distributions(name: str | None, versions: dict[str, str]) -> Iterable[Distribution]:
    """Return the metadata of stand-ins.

    Args:
        name: the name of one distribution, or None for all.
        versions: the version of each stand-in that is installed, by the name of its module.
    """
    for distribution, module in _MODULES.items():
        if module in versions and (name is None or _normalized(name) == distribution):
            yield _StandInDistribution(distribution, versions[module])


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
