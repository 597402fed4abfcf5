"""A pytest plugin for kafka-python's suite: the module of its fixtures that starts processes.

The source distribution lacks it. The fixtures import two names, and use one for a broker that runs
already, on which nothing is to be done.
"""

from __future__ import annotations

import sys
import types


class ExternalService:
    """A server that somebody else started."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def open(self) -> None:
        """Return: it runs."""

    def close(self) -> None:
        """Return: it goes on running."""


class SpawnedService:
    """A server that the fixtures would start, if `KAFKA_URI` named none."""

    def __init__(self, *arguments: object, **keywords: object) -> None:
        raise RuntimeError("KAFKA_URI is not set")


def _add_service() -> None:
    module = types.ModuleType("test.service")
    module.__dict__.update(ExternalService=ExternalService, SpawnedService=SpawnedService)
    sys.modules["test.service"] = module


_add_service()
