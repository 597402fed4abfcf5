"""Times the commands of ``tasks.py`` and ``failures.py`` on three brokers, process by process.

    python -m benches.command_line.run [--rounds 5] [--write]

The report is .ottla-build/command-line.md; ``--write`` puts it on the page of the documentation.
Returns 1 if ottla does not do a task, or does not name the cause of a failure within its limit;
a tool that is not installed is named and left out, and then nothing is written to the page.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

from benches.command_line import failures, page, tools
from benches.command_line.cluster import Cluster
from benches.command_line.measure import Outcome, median, run
from benches.command_line.tasks import TASKS, Task
from benches.command_line.tools import OTTLA, TOOLS
from ottla.testing import MockRegistry
from tests.support.jars import REPOSITORY

REPORT = REPOSITORY / ".ottla-build" / "command-line.md"
_numbers = itertools.count(1)


def main() -> int:
    """Run all commands; write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the documentation's page")
    options = parser.parse_args()
    missing = tools.missing()
    print("".join(f"without {tool}: it is not on PATH\n" for tool in missing), end="")
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        registry = stack.enter_context(MockRegistry())
        cluster = Cluster(registry.url)
        stack.enter_context(cluster.kafka)
        environments = {
            name: tools.environment(directory / name, target)
            for name, target in cluster.targets.items()
        }
        cluster.fill(environments["plain"], directory)
        bench = Bench(environments, _addresses(cluster, registry.url), missing, options.rounds)
        with cluster.member("billing"):
            for task in TASKS:
                bench.task(task, _words(registry.url))
        for failure in failures.ALIVE:
            bench.failure(failure)
        group = cluster.lose_a_coordinator()
        for failure in failures.DOWN:
            bench.failure(failure, {"group": group})
    text = bench.report()
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(text)
    if options.write and not missing:
        page.write(text)
    print("".join(f"FAILED {problem}\n" for problem in bench.problems), end="")
    # Also a line that `make deep` prints.
    print(f"=== {bench.passed} sections passed, {len(bench.problems)} failed ===")
    return int(bool(bench.problems))


class Bench:
    """Runs tasks and failures, and collects their sections."""

    def __init__(
        self,
        environments: Mapping[str, Mapping[str, str]],
        addresses: Mapping[str, str],
        missing: list[str],
        rounds: int,
    ) -> None:
        self._environments, self._addresses, self._rounds = environments, addresses, rounds
        self._tools = [tool for tool in TOOLS if tool not in missing]
        self._sections: dict[str, list[str]] = {"Daily tasks": [], "Failures": []}
        self.problems: list[str] = []
        self.passed = 0

    def task(self, task: Task, words: Callable[[], Mapping[str, str]]) -> None:
        """Run a task with each tool."""
        print(task.name, flush=True)
        environment = self._environments["plain"]

        def command(text: str) -> str:
            for each in task.prepare:
                run(each, environment)
            return _filled(text, words())

        outcomes = {
            tool: median(partial(command, text), environment, self._rounds)
            for tool, text in task.commands.items()
            if tool in self._tools
        }
        self._sections["Daily tasks"].append(page.task_section(task, outcomes, self._addresses))
        done = page.result(task, OTTLA, outcomes.get(OTTLA))
        self._judge(task.name, done == "yes", outcomes)

    def failure(self, failure: failures.Failure, words: Mapping[str, str] | None = None) -> None:
        """Run the commands of a failure with each tool, once."""
        print(failure.name, flush=True)
        outcomes = {
            tool: run(_filled(text, words or {}), self._environments[failure.target])
            for tool, text in failure.commands.items()
            if tool in self._tools
        }
        section = page.failure_section(failure, outcomes, self._addresses)
        self._sections["Failures"].append(section)
        ours = outcomes[OTTLA]
        named = page.cause(failure, ours) == "yes" and ours.code not in (0, None)
        self._judge(failure.name, named, outcomes)

    def report(self) -> str:
        """Return the text of the report."""
        machine = f"{os.cpu_count()} processors, Python {platform.python_version()}"
        lines = [f"Measured on {datetime.now(timezone.utc):%Y-%m-%d}: {machine}.", ""]
        for title, sections in self._sections.items():
            lines += [f"## {title}", "", *sections]
        return "\n".join(lines)

    def _judge(self, name: str, well: bool, outcomes: Mapping[str, Outcome]) -> None:
        for tool, each in outcomes.items():
            print(f"  {tool:10}{each.seconds:7.2f} s, exit code {each.code}", flush=True)
        self.passed += well
        if not well:
            self.problems.append(f"{name}: ottla printed\n{outcomes[OTTLA].output}")


def _filled(command: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        command = command.replace(f"{{{word}}}", value)
    return command


def _words(registry: str) -> Callable[[], Mapping[str, str]]:
    now = datetime.now(timezone.utc)
    since, until = now - timedelta(hours=1), now - timedelta(minutes=50)

    def words() -> Mapping[str, str]:
        return {
            "n": f"{int(time.time())}-{next(_numbers)}",
            "since": f"{since:%Y-%m-%dT%H:%M:%SZ}",
            "until": f"{until:%Y-%m-%dT%H:%M:%SZ}",
            "since_ms": str(int(since.timestamp()) * 1000),
            "until_ms": str(int(until.timestamp()) * 1000),
            "registry": registry,
        }

    return words


def _addresses(cluster: Cluster, registry: str) -> Mapping[str, str]:
    """Return names for the addresses, which differ from run to run."""
    named = {}
    for target, first in (("plain", 9092), ("alice", 9192), ("port", 9999)):
        for number, each in enumerate(cluster.targets[target].bootstrap.split(",")):
            named[each] = f"127.0.0.1:{first + number}"
    return {**named, registry.removeprefix("http://"): "127.0.0.1:8081"}


if __name__ == "__main__":
    sys.exit(main())
