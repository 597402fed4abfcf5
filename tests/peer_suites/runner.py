"""Runs a suite with the control and with ottla's stand-in, each with a fresh broker.

Both runs have the same files, environment and order; they differ in `PYTHONPATH` and one plugin. If
a test ends the process, the run goes on after it. Tests that failed run once more with both, on one
more broker.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peer_suites import broker, comparison, environments, results, sources
from tests.peer_suites.comparison import Comparison
from tests.peer_suites.suite import Suite
from tests.support.jars import REPOSITORY

RESULTS = sources.PEERS / "results"
_PLUGINS = Path(__file__).parent / "plugins"
# A suite in which more tests failed has another problem than chance.
_MAX_REPEATED = 60
# How often a run goes on after a test that ended the process.
_MAX_CRASHES = 5
# A test that pytest-timeout cannot end, ends the process after this time beyond its limit.
_SILENCE = 60


@dataclass(frozen=True)
class _Run:
    """What the runs of a suite have in common."""

    suite: Suite
    directory: Path
    python: Path

    def pytest(
        self, side: str, addresses: Mapping[str, str], label: str, only: Sequence[str] | None = None
    ) -> dict[str, str]:
        """Run all tests, or only some, with the control or ours; return their outcomes."""
        file = RESULTS / f"{self.suite.name}-{label}.jsonl"
        log = file.with_suffix(".log")
        file.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
        read = results.Read()
        status = 0
        for _ in range(1 + _MAX_CRASHES):
            # What has an outcome does not run again.
            selection = {"excluded": [*self.suite.excluded, *read.outcomes], "only": only}
            status = self._process(side, addresses, selection, file, log)
            before, read = read, results.read(file)
            if read.complete or len(read.outcomes) == len(before.outcomes):
                break
        if not read.collected and not read.outcomes:
            raise RuntimeError(f"{self.suite.name}, {side}: pytest ended with {status}; see {log}")
        return read.all_outcomes

    def _process(
        self,
        side: str,
        addresses: Mapping[str, str],
        selection: Mapping[str, Any],
        file: Path,
        log: Path,
    ) -> int:
        selected = file.with_suffix(".selection.json")
        selected.write_text(json.dumps(selection))
        plugins = ["peer_results", *self.suite.plugins]
        if side == "ours":
            plugins.insert(0, "peer_layer")
        command = [str(self.python), "-m", "pytest", "-c", "pytest.ini", "--rootdir", "."]
        command += [argument for plugin in plugins for argument in ("-p", plugin)]
        command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", "-q", "--tb=short"]
        command += [f"--ignore={key}" for key in self.suite.excluded if "::" not in key]
        command += self.suite.paths
        environment = self._environment(side, addresses, file, selected)
        with log.open("a") as output:
            process = subprocess.Popen(
                command,
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return _wait(process, file, self.suite.seconds + _SILENCE)
            finally:
                _kill(process)

    def _environment(
        self, side: str, addresses: Mapping[str, str], file: Path, selection: Path
    ) -> dict[str, str]:
        paths = [str(self.directory), str(_PLUGINS)]
        if side == "ours":
            paths.append(str(REPOSITORY / "python"))
        # The environment of ottla's own tests must not reach the suite.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "VIRTUAL_ENV"))}
        environment = {
            **kept,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OTTLA_PEER_RESULTS": str(file),
            "OTTLA_PEER_SELECTION": str(selection),
            **{key: value.format(**addresses) for key, value in self.suite.environment.items()},
        }
        if side == "ours":
            environment["OTTLA_PEER_LAYER"] = self.suite.layer
        return environment


def run(suite: Suite, repeat: bool = True) -> Comparison:
    """Run a suite with both; return the comparison, which is also stored."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    each = _Run(suite, sources.unpack(suite), environments.python(suite.venv))
    _write_configuration(suite, each.directory)
    outcomes = {}
    for side in ("control", "ours"):
        with broker.running(suite.broker) as addresses:
            outcomes[side] = each.pytest(side, addresses, side)
        passed = sum(outcome == comparison.PASSED for outcome in outcomes[side].values())
        print(f"  {side}: {passed} of {len(outcomes[side])} passed", flush=True)
    control, ours = outcomes["control"], outcomes["ours"]
    again = comparison.to_repeat(control, ours, suite.expected) if repeat else []
    unstable: dict[str, str] = {}
    if 0 < len(again) <= _MAX_REPEATED:
        print(f"  again: {len(again)} tests", flush=True)
        with broker.running(suite.broker) as addresses:
            second = {
                side: each.pytest(side, addresses, f"{side}-again", again)
                for side in ("control", "ours")
            }
        unstable = comparison.unstable(control, second["control"], ours, second["ours"])
        control = comparison.merge(control, second["control"])
        ours = comparison.merge(ours, second["ours"])
    outcome = results.Stored(control, ours, unstable, time.strftime("%Y-%m-%d"))
    outcome.write(RESULTS / f"{suite.name}.json")
    return outcome.compare(suite.expected)


def stored(suite: Suite) -> Comparison | None:
    """Return the comparison of the last run; None if the suite did not run."""
    file = RESULTS / f"{suite.name}.json"
    return results.Stored.read(file).compare(suite.expected) if file.exists() else None


def details(suite: Suite) -> dict[str, str]:
    """Return the first line of the error of each test that failed with ours in the last run."""
    return results.read(RESULTS / f"{suite.name}-ours.jsonl").details


def _write_configuration(suite: Suite, directory: Path) -> None:
    lines = [
        "[pytest]",
        f"timeout = {suite.seconds}",
        "timeout_method = signal",
        *suite.options,
    ]
    (directory / "pytest.ini").write_text("\n".join(lines) + "\n")


def _wait(process: subprocess.Popen[bytes], file: Path, silence: float) -> int:
    """Wait for the end of a run, or of its progress."""
    started = time.time()
    while True:
        try:
            return process.wait(5)
        except subprocess.TimeoutExpired:
            progress = file.stat().st_mtime if file.exists() else 0.0
            if time.time() - max(started, progress) > silence:
                print(f"  no test ended for {silence:.0f} s", flush=True)
                return -signal.SIGKILL


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End what a test left running, in the group that the process leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
