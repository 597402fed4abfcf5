"""A pytest plugin that records failed tests, with their start and end.

    pytest -p tests.gate.outcomes        # with OTTLA_GATE_OUTCOMES=FILE in its environment

Writes one line of JSON per failed test. With pytest-xdist, only the controller writes.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.gate.flaky import Failure

FILE = "OTTLA_GATE_OUTCOMES"


def read(file: Path) -> list[Failure]:
    """Return the failures of the run that wrote `file`; empty if the run ended early."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [Failure(**json.loads(line)) for line in lines]


class _Outcomes:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._spans: dict[str, tuple[float, float]] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        started, ended = self._spans.get(report.nodeid, (report.start, report.stop))
        self._spans[report.nodeid] = (min(started, report.start), max(ended, report.stop))
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        lines = [
            json.dumps(
                {"test": test, "started": self._spans[test][0], "ended": self._spans[test][1]}
            )
            for test in sorted(self._failed)
        ]
        self._file.write_text("".join(f"{line}\n" for line in lines))


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, except in the workers of pytest-xdist."""
    if FILE in os.environ and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Outcomes(Path(os.environ[FILE])), "ottla-gate-outcomes")
