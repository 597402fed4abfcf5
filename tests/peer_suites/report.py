"""Writes the results as Markdown: a table of the suites, and the reason of each remainder.

docs/compare/peer-suites.md has the results of a complete run, between two marks; `write` replaces
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.peer_suites import environments
from tests.peer_suites.comparison import Comparison
from tests.peer_suites.sources import PEERS
from tests.peer_suites.suite import Checkout, Suite
from tests.support.jars import REPOSITORY

REPORT = PEERS / "report.md"
PAGE = REPOSITORY / "docs" / "compare" / "peer-suites.md"
_BEGIN, _END = "<!-- results: written by `make peer-suites` -->", "<!-- end of results -->"
_PACKAGES = {
    "kafka-python": ("kafka-python",),
    "aiokafka": ("aiokafka",),
    "confluent-kafka": ("confluent-kafka",),
    "faststream": ("confluent-kafka", "aiokafka"),
}

Results = Sequence[tuple[Suite, Comparison | str]]
"""Suites with their comparisons, or the reason why there is none."""


def render(results: Results) -> str:
    """Return the report."""
    lines = []
    columns = ["suite", "selected", "control passes", "of these, ours passes", "goal"]
    columns += ["remainder", "unstable"]
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [_row(suite, result) for suite, result in results]
    for suite, result in results:
        lines += ["", f"### {suite.name}", ""]
        lines += _items(suite, result)
    return "\n".join([*lines, ""])


def write(text: str) -> None:
    """Replace the results on the page of the documentation."""
    page = PAGE.read_text()
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n{_END}{after}")


def failures(result: Comparison, details: Mapping[str, str] | None = None) -> list[str]:
    """Return why a suite fails, one line each.

    Args:
        result: the comparison.
        details: the first line of the error of each test that failed with the stand-in.
    """
    known = details or {}
    return [
        *(
            f"{test}: passes with the control, {outcome} with ours. {known.get(test, '')}".rstrip()
            for test, outcome in result.unlisted.items()
        ),
        *(f"{key}: listed, but {problem}" for key, problem in result.stale.items()),
        *([] if result.control else ["no test passes with the control"]),
    ]


def _row(suite: Suite, result: Comparison | str) -> str:
    if isinstance(result, str):
        return f"| {suite.title} | not run: {result} | | | {_percent(suite.goal)} | | |"
    remainder = len(result.remainder) + len(result.unlisted)
    return (
        f"| {suite.title} | {len(result.selected)} | {len(result.control)} |"
        f" {len(result.ours)} ({_percent(result.share)}) | {_percent(suite.goal)} |"
        f" {remainder or ''} | {len(result.unstable) or ''} |"
    )


def _items(suite: Suite, result: Comparison | str) -> list[str]:
    source = suite.source
    origin = (
        f"[{source.name}]({source.repository}) at `{source.commit[:12]}`"
        if isinstance(source, Checkout)
        else f"the source distribution of {source.package} {source.version}"
    )
    versions = environments.versions(suite.venv, *_PACKAGES[suite.venv])
    control = ", ".join(f"{package} {version}" for package, version in versions.items())
    lines = [f"Files: {origin}. Control: {control}."]
    if not isinstance(result, str):
        lines[0] += f" Run on {result.ran}." if result.ran else ""
        lines += _section("Passes with the control only, expected", _reasons(result))
        lines += _section("**Fails the suite**", failures(result))
        lines += _section("Does not pass with the control", _not_passing(result))
        lines += _section("Passes with ours only", map(_code, result.only_ours))
        lines += _section(
            "Failed once, and passed when it ran again",
            (f"{_code(test)}: {who}" for test, who in result.unstable.items()),
        )
    lines += _section("Excluded", _grouped(suite.excluded))
    lines += _section("Not selected", (f"{k}: {v}" for k, v in suite.not_selected.items()))
    return lines


def _reasons(result: Comparison) -> list[str]:
    return _grouped({test: entry.reason for test, entry in result.remainder.items()})


def _not_passing(result: Comparison) -> Iterable[str]:
    passing = {*result.control, *result.only_ours}
    return (_code(test) for test in result.selected if test not in passing)


def _grouped(reasons: Mapping[str, str]) -> list[str]:
    """Return one line for each reason, with its tests."""
    by_reason: dict[str, list[str]] = {}
    for test, reason in reasons.items():
        by_reason.setdefault(reason, []).append(_code(test))
    return [f"{', '.join(tests)}: {reason}" for reason, tests in by_reason.items()]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return ["", f"{title}:", "", *(f"- {line}" for line in listed)] if listed else []


def _code(test: str) -> str:
    """Return the shortest clear name of a test: its file and function.

    The blocking and the asyncio tests of the registry differ in the directory: `_sync`, `_async`.
    """
    path, _, rest = test.partition("::")
    file = Path(path)
    name = f"{file.parent.name}/{file.name}" if file.parent.name.startswith("_") else file.name
    return f"`{name}::{rest.rpartition('::')[2]}`" if rest else f"`{name}`"


def _percent(share: float) -> str:
    """Return a share in percent, rounded down: 100 % means all."""
    return f"{math.floor(share * 1000) / 10:g} %"
