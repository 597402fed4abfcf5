"""A pytest plugin that writes each outcome as soon as it is known, and selects tests.

It runs in another client's environment, without ottla. Its file has one JSON document a line: the
tests that were collected, the start of each test and its outcome. A test that started without an
outcome ended the process. If a file could not be collected, it has the outcome of a test.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

FILE = "OTTLA_PEER_RESULTS"
"""An environment variable: the file to append to."""

SELECTION = "OTTLA_PEER_SELECTION"
"""An environment variable: a JSON file. `excluded` has the beginnings of node ids that do not run;
`only` has the node ids that run, or is null."""


class _Results:
    def __init__(self, file: Path) -> None:
        self._file = file.open("a", buffering=1)
        selection = json.loads(Path(os.environ[SELECTION]).read_text())
        self._excluded: list[str] = selection["excluded"]
        self._only: list[str] | None = selection["only"]
        self._outcomes: dict[str, tuple[str, str]] = {}

    def _write(self, **document: Any) -> None:
        self._file.write(f"{json.dumps(document)}\n")

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        excluded = [item for item in items if self._is_excluded(item.nodeid)]
        if excluded:
            config.hook.pytest_deselected(items=excluded)
            left_out = set(excluded)
            items[:] = [item for item in items if item not in left_out]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._write(collected=[item.nodeid for item in session.items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(test=report.nodeid, outcome="failed", detail=str(report.longrepr)[-500:])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(started=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        kept = self._outcomes.get(report.nodeid)
        if report.failed and (kept is None or kept[0] != "failed"):
            self._outcomes[report.nodeid] = ("failed", _first_line(report))
        elif report.skipped and kept is None:
            self._outcomes[report.nodeid] = ("skipped", "")
        elif report.when == "call" and kept is None:
            self._outcomes[report.nodeid] = ("passed", "")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        outcome, detail = self._outcomes.pop(nodeid, ("failed", "no report"))
        self._write(test=nodeid, outcome=outcome, detail=detail)

    def _is_excluded(self, nodeid: str) -> bool:
        if self._only is not None and nodeid not in self._only:
            return True
        return any(
            nodeid == key or nodeid.startswith((f"{key}::", f"{key}[")) for key in self._excluded
        )


def _first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = text.strip().splitlines()
    return lines[0][:300] if lines else ""


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin if a file is named."""
    # Tests send SIGINT, which is ignored in what a shell started in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if FILE in os.environ:
        config.pluginmanager.register(_Results(Path(os.environ[FILE])), "ottla-peer-results")
