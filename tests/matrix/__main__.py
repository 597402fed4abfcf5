"""Runs rows of the matrix, one after the other, and keeps their results.

    python -m tests.matrix [--list] [--numprocesses N] [ROW | SUBJECT ...]
    python -m tests.matrix --take FILE ...

Without rows: those that the gate does not run. A row that needs what this machine lacks is printed
and left as it was; it fails the run only if it was asked for by its name. `--take` keeps the
results that another machine has written (the workflow's artifacts). Ends with 1 if a test failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.gate import outcomes
from tests.gate.pytest_tier import without_workers
from tests.matrix import results
from tests.matrix.results import Result
from tests.matrix.rows import Row, rows
from tests.matrix.suites import NotOnThisMachineError, Suite, suite

DIRECTORY = Path(".ottla-build/matrix")
MAX_RETRIED = 10
"""The most failed tests that run again, alone: a machine that pauses fails a few of thousands."""


def run(row: Row, chosen: Suite, processes: str | None) -> Result:
    """Run the tests of a row, with the output in `.ottla-build/matrix/ROW.log`."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    arguments = _with_processes(chosen.arguments, processes)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        failures, report = Path(directory) / "failed.jsonl", Path(directory) / "report.xml"
        own = ["-p", "tests.gate.outcomes", f"--junitxml={report}"]
        status = _pytest(row, chosen, [*own, *arguments], {outcomes.FILE: str(failures)})
        failed = [each.test for each in outcomes.read(failures)]
        # Anything but "all passed" and "some failed" means that tests were not run.
        if status not in (0, 1) or not report.exists():
            raise RuntimeError(f"pytest ended early: {DIRECTORY / row.name}.log")
        counts = results.count(report)
    flaky = _passing_alone(row, chosen, failed)
    counts = replace(
        counts,
        passed=counts.passed + len(flaky),
        failed=[test for test in failed if test not in flaky],
        flaky=flaky,
    )
    return Result(
        chosen.version,
        time.strftime("%Y-%m-%d", time.gmtime()),
        round((time.monotonic() - began) / 60, 1),
        f"{platform.system()} {platform.machine()}",
        counts,
    )


def _with_processes(arguments: Sequence[str], processes: str | None) -> list[str]:
    if processes is None:
        return list(arguments)
    # Brokers of three processes need `--dist=loadscope`, which one process does not know.
    if processes == "0":
        return without_workers(arguments)
    option = f"--numprocesses={processes}"
    return [option if each.startswith("--numprocesses=") else each for each in arguments]


def _passing_alone(row: Row, chosen: Suite, failed: Sequence[str]) -> list[str]:
    if len(failed) > MAX_RETRIED:
        return []
    options = [each for each in without_workers(chosen.arguments) if not Path(each).exists()]
    return [test for test in failed if _pytest(row, chosen, [*options, test], {}) == 0]


def _pytest(row: Row, chosen: Suite, arguments: Sequence[str], env: dict[str, str]) -> int:
    """Run pytest, print its output, and append it to the log of the row; return its status."""
    command = [str(chosen.python), "-m", "pytest", *arguments]
    with (
        (DIRECTORY / f"{row.name}.log").open("a") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **chosen.env, **env},
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            print(line, end="", flush=True)
        return process.wait()


def _summary(row: Row, result: Result) -> str:
    counts = result.counts
    text = f"{row.name} ({result.version}): {counts.passed} passed, {len(counts.failed)} failed, "
    text += f"{sum(counts.skipped.values())} skipped in {result.minutes} minutes"
    return text + "".join(f"\n  failed: {test}" for test in counts.failed)


def _chosen(names: Sequence[str], known: Sequence[Row]) -> list[Row]:
    if not names:
        return [row for row in known if not row.in_gate]
    return [row for row in known if {row.name, row.subject.lower()} & set(names)]


def main() -> int:
    """Run the requested rows; return 1 if a test failed, or a row that was named did not run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the rows, and run none")
    parser.add_argument("--numprocesses", help="processes of each row's pytest; as in the gate")
    parser.add_argument("--take", nargs="+", default=[], type=Path, help="files of results")
    parser.add_argument("rows", nargs="*", help="only these, or those of a subject: python, …")
    arguments = parser.parse_args()
    known = rows()
    names = {row.name for row in known} | {row.subject.lower() for row in known}
    if unknown := set(arguments.rows) - names:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    for file in arguments.take:
        results.keep(results.read(file))
    if arguments.list:
        print("\n".join(row.name for row in _chosen(arguments.rows, known)))
    if arguments.list or arguments.take:
        return 0
    summaries, status = [], 0
    for row in _chosen(arguments.rows, known):
        print(f"\n######## {row.name}", flush=True)
        (DIRECTORY / f"{row.name}.log").unlink(missing_ok=True)
        try:
            result = run(row, suite(row), arguments.numprocesses)
        except (NotOnThisMachineError, RuntimeError, subprocess.CalledProcessError) as error:
            summaries.append(f"{row.name}: did not run: {error}")
            named = row.name in arguments.rows
            status |= named or not isinstance(error, NotOnThisMachineError)
            continue
        # After each row, so that an aborted run keeps those before.
        results.keep({row.name: result})
        summaries.append(_summary(row, result))
        status |= bool(result.counts.failed)
    print("\n" + "\n".join(summaries))
    return status


if __name__ == "__main__":
    sys.exit(main())
