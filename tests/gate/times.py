"""Where a tier's time goes: the files of tests with the most seconds, for the end of its log.

    pytest -p tests.gate.times

Each file has the seconds of its tests, and the CPU seconds that they used in their worker and in
processes that ended: tests that wait cost little where others run meanwhile.
"""

from __future__ import annotations

import resource
from collections.abc import Generator, Mapping
from dataclasses import dataclass

import pytest

LARGEST = 20
"""The number of files in a log."""

_CPU = "CPU seconds"


@dataclass(frozen=True)
class Total:
    """The tests of a file: how many, their seconds, and their CPU seconds if these are known."""

    tests: int = 0
    seconds: float = 0.0
    cpu: float | None = None

    def plus(self, other: Total) -> Total:
        """Return the sum of both."""
        cpu = other.cpu if self.cpu is None else self.cpu + (other.cpu or 0)
        return Total(self.tests + other.tests, self.seconds + other.seconds, cpu)


def lines(totals: Mapping[str, Total]) -> list[str]:
    """Return a line for each of the files with the most seconds."""
    largest = sorted(totals.items(), key=lambda item: -item[1].seconds)[:LARGEST]
    return [
        f"{total.seconds:7.1f}s"
        + ("" if total.cpu is None else f" {total.cpu:6.1f}s CPU")
        + f" {total.tests:4} tests  {name}"
        for name, total in largest
    ]


class _Times:
    def __init__(self) -> None:
        self._used = _cpu_seconds()
        self._totals: dict[str, Total] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = _cpu_seconds()
        report.user_properties.append((_CPU, now - self._used))
        self._used = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.split("::", 1)[0]
        cpu = sum(float(str(value)) for name, value in report.user_properties if name == _CPU)
        part = Total(int(report.when == "setup"), report.duration, cpu)
        self._totals[file] = self._totals.get(file, Total()).plus(part)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"largest {LARGEST} files")
        for line in lines(self._totals):
            terminalreporter.write_line(line)


def _cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin: workers of pytest-xdist measure, and their controller reports."""
    config.pluginmanager.register(_Times(), "ottla-gate-times")
