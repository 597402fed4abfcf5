"""The texts made from the results: docs/reference/matrix.md, and the table in README.

Invariant: a version counts as tested only if the gate runs it, or if its last run had no failure.
"""

from __future__ import annotations

import re

from tests.matrix.results import Result, read
from tests.matrix.rows import FREE_THREADED, SUBJECTS, Row, Subject, rows
from tests.support import kafka_releases

_HEAD = """# Versions

What ottla's tests ran on, and when. The rows marked *gate* run with every change, on Linux x86-64.
`make matrix` runs the others with the same tests: on Python, the tests on the mock cluster; with
Spark, the cases of the gate on real brokers; on Kafka, the tests of three real brokers and those of
older releases. `make deep` runs the matrix, too, and the gate runs a part of it that changes every
day. `make matrix ARGS='python-3.13 kafka-3.9'` runs single rows.

*Flaky* tests failed while others ran, and passed alone. A row without counts has not run since
it is in the matrix.
"""
_TABLE = re.compile(r"(?<=^## What it runs on\n\n)(?:\|.*\n)+", re.MULTILINE)
_PLATFORM = (
    "Linux (glibc, musl), macOS, Windows; x86-64, arm64",
    "Linux x86-64",
    "wheels of the others by a smoke test",
)
_LINK = "https://github.com/ottla/ottla/blob/main/docs/reference/matrix.md"


def page() -> str:
    """Return the text of docs/reference/matrix.md."""
    results, known = read(), rows()
    text = _HEAD
    for subject in SUBJECTS:
        text += f"\n## {subject}\n\n"
        text += "| | version | last run | passed | failed | skipped | flaky | minutes |\n"
        text += "|---|---|---|---|---|---|---|---|\n"
        of_subject = [row for row in known if row.subject == subject]
        text += "".join(_line(row, results.get(row.name)) for row in of_subject)
        if subject == "Python":
            text += _FREE_THREADED
        text += "".join(
            _details(row, results[row.name]) for row in of_subject if row.name in results
        )
    return text


_FREE_THREADED = f"""
On Pythons without a global lock ({" and ".join(FREE_THREADED)}) the workflow builds the extension
and runs `python -m tests.threads`: many threads on the same producer, consumer and records. The
other tests need packages that have no builds for these Pythons.
"""


def readme(text: str) -> str:
    """Return README with a current table."""
    results, known = read(), rows()
    lines = [
        "| | supported | tested with every change | tested before a release |",
        "|---|---|---|---|",
    ]
    for subject in SUBJECTS:
        of_subject = [row for row in known if row.subject == subject]
        numbered = [row.version for row in of_subject if row.version not in FREE_THREADED]
        matrix = [
            row.version
            for row in of_subject
            if not row.in_gate and row.name in results and not results[row.name].counts.failed
        ]
        cells = (
            f"{numbered[0]} to {numbered[-1]}",
            _in_gate(subject, of_subject),
            ", ".join(matrix),
        )
        lines.append(f"| {subject} | " + " | ".join(cells) + " |")
    lines.append("| platform | " + " | ".join(_PLATFORM) + " |")
    table = "".join(f"{line}\n" for line in lines)
    return _TABLE.sub(lambda _: table, text)


def _in_gate(subject: Subject, of_subject: list[Row]) -> str:
    versions = [row.version for row in of_subject if row.in_gate]
    if subject == "Kafka":
        versions.append(kafka_releases.OLDEST.removeprefix("kafka-"))
    return ", ".join(versions)


def _line(row: Row, result: Result | None) -> str:
    name = f"{row.subject} {row.version}" + (", *gate*" if row.in_gate else "")
    if result is None:
        empty = "with every change" if row.in_gate else "not run"
        return f"| {name} | | {empty} | | | | | |\n"
    counts = result.counts
    cells = (
        *(name, result.version, result.date, counts.passed, len(counts.failed)),
        *(sum(counts.skipped.values()), len(counts.flaky), f"{result.minutes:g}"),
    )
    return "| " + " | ".join(map(str, cells)) + " |\n"


def _details(row: Row, result: Result) -> str:
    counts = result.counts
    lines = [f"- `{test}` failed" for test in counts.failed]
    lines += [f"- {number} skipped: {reason}" for reason, number in counts.skipped.items()]
    if not lines:
        return ""
    return f"\n{row.subject} {row.version}, {result.platform}:\n\n" + "\n".join(lines) + "\n"
