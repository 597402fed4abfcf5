"""`make deep`: slow, randomized and timing-sensitive tests, in sections, with a report.

    python -m tests.gate.deep [--seeds N] [--without SECTION] [SECTION ...]

A failed section does not stop the others. `.ottla-build/deep/report.md` lists the sections, their
durations, failures and seeds to replay; the same directory has each section's complete output.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate import cargo_tier, outcomes
from tests.gate.machine import MachineMonitor

DIRECTORY = Path(".ottla-build/deep")
_CARGO = ["cargo", "test", "--release", "--locked", "--workspace"]
_WITHOUT = ["--exclude", "ottla-python", "--exclude", "ottla-benches"]
_SEED = re.compile(r"OTTLA_SEED=\d+")


@dataclass(frozen=True)
class Section:
    """A section: its name, command and environment."""

    name: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """The result of a section."""

    section: Section
    status: int
    seconds: float
    stopped: float
    stolen: float
    summary: str
    failed: Sequence[str]
    seeds: Sequence[str]


def sections(seeds: int) -> list[Section]:
    """Return all sections, in the order in which they run."""
    directories = ["mock", "mistakes", "cluster", "registry", "compat", "security"]
    directories += ["frameworks", "gateway", "site", "fault", "network", "spark"]
    return [
        # Optimized, as users run it, and with many more random schedules.
        Section("rust", [*_CARGO, *_WITHOUT], {"OTTLA_SEEDS": str(seeds)}),
        *(Section(name, _pytest(f"tests/{name}")) for name in directories),
        # Three minutes of what `make soak` does for hours.
        Section("soak", _pytest("tests/soak")),
        # Other clients' own suites: needs their checkouts (docs/compare/peer-suites.md).
        Section("peer-suites", [sys.executable, "-m", "tests.peer_suites"]),
        # Fails if ottla's command line does not do a daily task, or hides the cause of a failure.
        Section("command-lines", [sys.executable, "-m", "benches.command_line.run"]),
        # The versions that the gate does not run: writes tests/matrix/results.json.
        Section("matrix", [sys.executable, "-m", "tests.matrix"]),
        Section("instructions", [sys.executable, "-m", "benches.instructions"]),
        Section("fuzz", ["tools/fuzz.sh", os.environ.get("FUZZ_SECONDS", "60")]),
        Section("publish", ["tools/publish_rehearsal.sh"]),
        # Two release builds.
        Section("reproducible", ["tools/reproducible.sh"]),
    ]


def _pytest(directory: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "tests.gate.outcomes", "-m", "deep", directory]


def run(section: Section) -> Result:
    """Run a section; print and store its output."""
    print(f"\n######## {section.name}", flush=True)
    log, failures = DIRECTORY / f"{section.name}.log", DIRECTORY / f"{section.name}.failed"
    failures.unlink(missing_ok=True)
    environment = {**os.environ, **section.environment, outcomes.FILE: str(failures)}
    started = time.time()
    with (
        MachineMonitor() as machine,
        log.open("w") as file,
        subprocess.Popen(
            section.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            print(line, end="", flush=True)
        status = process.wait()
    ended, text = time.time(), log.read_text()
    failed = [*cargo_tier.FAILED.findall(text), *(one.test for one in outcomes.read(failures))]
    return Result(
        section,
        status,
        ended - started,
        machine.stopped(started, ended),
        machine.stolen(started, ended),
        _summary(text, status),
        failed,
        sorted(set(_SEED.findall(text))) if status else [],
    )


def _summary(text: str, status: int) -> str:
    rust = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", text, re.MULTILINE)
    if rust:
        passed, failed = (sum(int(counts[i]) for counts in rust) for i in range(2))
        return f"{passed} passed, {failed} failed"
    closing = re.findall(r"^=+ (.*(?:passed|failed|error|deselected).*) =+$", text, re.MULTILINE)
    if closing:
        return str(closing[-1])
    # A program of ours, which ends with what it found.
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("==> ") if lines and status == 0 else "did not finish"


def report(results: Sequence[Result], seeds: int) -> str:
    """Return the text of the report."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{os.cpu_count()} processors, Python {platform.python_version()}"
    lines = [
        f"# Deep tests of {commit}",
        "",
        f"{time.strftime('%Y-%m-%d %H:%M %Z')}, {machine}, {seeds} seeds a schedule.",
        "",
        "| section | result | min:s | machine stopped, s | stolen, s |",
        "|---|---|---|---|---|",
    ]
    for result in results:
        minutes, seconds = divmod(int(result.seconds), 60)
        verdict = "passed" if result.status == 0 else "**failed**"
        lines.append(
            f"| {result.section.name} | {verdict}: {result.summary} | {minutes}:{seconds:02}"
            f" | {result.stopped:.1f} | {result.stolen:.1f} |"
        )
    for result in results:
        if result.status:
            lines += ["", f"## {result.section.name}", ""]
            lines += [f"- `{test}`" for test in result.failed]
            lines += [f"- to replay: `{seed}`" for seed in result.seeds]
            lines += [f"- output: `{DIRECTORY / result.section.name}.log`"]
    return "\n".join([*lines, ""])


def main() -> int:
    """Run the requested sections, or all; return 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1000, help="seeds of each random schedule")
    parser.add_argument("--without", action="append", default=[], help="all but this one")
    parser.add_argument("sections", nargs="*", help="only these")
    arguments = parser.parse_args()
    known = sections(arguments.seeds)
    named = {*arguments.sections, *arguments.without}
    unknown = named - {section.name for section in known}
    if unknown:
        parser.error(
            f"no such sections: {', '.join(sorted(unknown))}; there are "
            + ", ".join(section.name for section in known)
        )
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for section in known:
        if section.name in arguments.without:
            continue
        if not arguments.sections or section.name in arguments.sections:
            results.append(run(section))
            # After each section, so that an aborted run leaves a report.
            (DIRECTORY / "report.md").write_text(report(results, arguments.seeds))
    print("\n" + report(results, arguments.seeds), end="")
    return int(any(result.status for result in results))


if __name__ == "__main__":
    sys.exit(main())
