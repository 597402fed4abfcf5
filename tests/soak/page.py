"""Writes docs/benchmarks/soak.md and its curves from the result of a run.

    python -m tests.soak.page DIR

Invariant: the page states the run's true duration and all of its problems; a run of minutes does
not look like one of hours.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.soak.chart import curves
from tests.soak.growth import Growth
from tests.soak.outcome import Outcome
from tests.support.jars import REPOSITORY

DIRECTORY = REPOSITORY / "docs" / "benchmarks"
_CURVES = [
    ("memory", "Anonymous memory", "MiB"),
    ("descriptors", "Open descriptors", ""),
    ("threads", "Threads", ""),
]
_LINE = 140
# Counts of parts that their logs have as well, or that are zero when all is well.
_LOG_COUNTS = ("expected", "delivered again")
_WRONG = (
    "lost",
    "stored twice",
    "never acknowledged",
    "elsewhere than acknowledged",
    "read before an earlier offset",
    "behind a later one of their key",
    "never delivered",
    "accepted more often than delivered",
    "delivered after they were accepted",
)


def write_page(outcome: Outcome, directory: Path = DIRECTORY) -> None:
    """Write the page and its curves."""
    moments = [seconds for seconds, _ in outcome.moments]
    for field, title, unit in _CURVES:
        text = curves(title, field, unit, outcome.samples, outcome.seconds, moments)
        (directory / f"soak-{field}.svg").write_text(text)
    (directory / "soak.md").write_text(page(outcome))


def page(outcome: Outcome) -> str:
    """Return the text of the page."""
    pictures = [f"![{title} of each process](soak-{field}.svg)" for field, title, _ in _CURVES]
    faults = [[kind, f"{times:,}"] for kind, times in outcome.faults.items()]
    return "\n".join(
        [
            *_introduction(outcome),
            *_table("Records", *_records(outcome)),
            *_paragraph(
                """Groups and share groups may deliver a record again, after a rebalance, a commit
                that failed, a release or a lost connection. None may be lost, and nothing may be
                stored twice."""
            ),
            *_table("Memory, descriptors and threads", *_growth(outcome.growth)),
            *_paragraph(
                """Medians of the second and of the last fifth of the run; memory is anonymous
                memory in MiB. Of Spark, the driver's Python, the JVM and the Python processes that
                the JVM starts are separate. Grey marks below the curves are faults."""
            ),
            *(line for picture in pictures for line in (picture, "")),
            *_table("Faults", ["fault", "times"], faults),
            *_table("Processes", *_parts(outcome)),
            f"Exceptions that a process does not expect: {_unexpected(outcome)}.",
            "",
        ]
    )


def _introduction(outcome: Outcome) -> list[str]:
    parameters, versions = outcome.parameters, outcome.versions
    names = ("ottla", "Kafka", "PySpark", "pyarrow", "Python")
    software = ", ".join(f"{name} {versions[name]}" for name in names)
    problems = [f"- {problem}" for problem in outcome.problems]
    verdict = f"It found {_count(problems)}:" if problems else "It found no problem."
    return [
        "# Soak",
        "",
        *_paragraph(
            """The soak runs producers, groups, a share group, a transactional copy, typed columns,
            a Spark stream, short-lived asyncio clients and a gateway on three real
            brokers, while brokers, leaders, coordinators and connections fail. It shows that
            nothing grows and nothing is lost. [Its design](../design/testing.md#the-soak) says what
            the processes do, and how it judges."""
        ),
        *_paragraph(f"This page is the output of `{command(outcome)}`."),
        *_paragraph(
            f"""The run began on {outcome.date} and lasted **{duration(outcome.seconds)}** under
            load and faults, with {software}, on {versions["processors"]} processors.
            **{verdict}**"""
        ),
        *([*problems, ""] if problems else []),
        *_paragraph(
            f"""The producers sent {parameters["rate"]} and {parameters["rate"] // 2} numbers a
            second. The next fault came {parameters["pause"]:g} s after the recovery from the last
            one, on average, and a sample every {parameters["interval"]:g} s."""
        ),
    ]


def _count(problems: Sequence[str]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def command(outcome: Outcome) -> str:
    """Return the command that repeats the run."""
    parameters = outcome.parameters
    names = ("minutes", "rate", "pause", "interval", "seed")
    options = " ".join(f"--{name} {parameters[name]:g}" for name in names)
    return f"python -m tests.soak {options} --page"


def duration(seconds: float) -> str:
    """Return hours and minutes, or minutes alone."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} minutes"


def _records(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            name,
            *(f"{counts.get(what, 0):,}" for what in _LOG_COUNTS),
            f"{sum(counts.get(what, 0) for what in _WRONG):,}",
        ]
        for name, counts in outcome.counts.items()
        if "expected" in counts
    ]
    return ["log", "acknowledged", "delivered again", "lost, doubled or out of order"], rows


def _growth(growth: Iterable[Growth]) -> tuple[list[str], list[list[str]]]:
    processes: dict[str, dict[str, Growth]] = {}
    for each in growth:
        processes.setdefault(each.process, {})[each.what] = each
    fields = [field for field, _, _ in _CURVES]
    rows = [
        [name, *(_change(found[field]) for field in fields)] for name, found in processes.items()
    ]
    return ["process", *fields], rows


def _change(growth: Growth) -> str:
    digits = 1 if growth.what == "memory" else 0
    text = f"{growth.before:.{digits}f} → {growth.after:.{digits}f}"
    return f"**{text}**" if growth.is_too_much else text


def _parts(outcome: Outcome) -> tuple[list[str], list[list[str]]]:
    rows = []
    for name, counts in outcome.counts.items():
        if "expected" in counts:
            continue
        shown = ", ".join(f"{what} {n:,}" for what, n in counts.items() if what != "unexpected")
        most = ", ".join(
            f"{what} {value:,.0f}" for what, value in outcome.buffered.get(name, {}).items()
        )
        seconds = outcome.close_seconds.get(name)
        rows.append([name, shown, most, "" if seconds is None else f"{seconds:.1f}"])
    return ["process", "counts", "at most", "seconds to close"], rows


def _unexpected(outcome: Outcome) -> int:
    return sum(counts.get("unexpected", 0) for counts in outcome.counts.values())


def _paragraph(text: str) -> list[str]:
    """Return a paragraph in lines of the documentation's width."""
    words = " ".join(text.split())
    return [*textwrap.wrap(words, _LINE, break_long_words=False, break_on_hyphens=False), ""]


def _table(heading: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    numbers = ["---", *("---:" for _ in header[1:])]
    if heading == "Processes":
        numbers = ["---"] * len(header)
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return [f"## {heading}", "", lines[0], f"|{'|'.join(numbers)}|", *lines[1:], ""]


if __name__ == "__main__":
    write_page(Outcome.load(Path(sys.argv[1])))
