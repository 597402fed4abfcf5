"""Writes the outcomes as Markdown, between two marks of docs/compare/command-line.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benches.command_line.failures import Failure
from benches.command_line.measure import LIMIT, Outcome
from benches.command_line.tasks import Task
from benches.command_line.tools import TOOLS
from tests.support.jars import REPOSITORY

PAGE = REPOSITORY / "docs" / "compare" / "command-line.md"
_BEGIN = "<!-- results: written by `python -m benches.command_line.run --write` -->"
_END = "<!-- end of results -->"
_LINES, _COLUMNS = 5, 220
# Lines that only name a configuration file.
_CONFIGURATION = re.compile(r"% Reading configuration|the configuration of the current context")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n\x20-\x7e\u00a0-\uffff]")


def write(text: str) -> None:
    """Replace the results on the page of the documentation."""
    page = PAGE.read_text()
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n{_END}{after}")


def result(task: Task, tool: str, outcome: Outcome | None) -> str:
    """Return whether a tool did a task, as a cell of the table."""
    reason = task.reasons.get(tool, "")
    if outcome is None:
        return f"no: {reason}"
    if outcome.code != 0 or not re.search(task.shows, outcome.output):
        return "**failed**"
    return f"partly: {reason}" if reason else "yes"


def cause(failure: Failure, outcome: Outcome) -> str:
    """Return whether the output of a failure names its cause."""
    return "yes" if re.search(failure.cause, outcome.output) else "no"


def task_section(task: Task, outcomes: Mapping[str, Outcome], addresses: Mapping[str, str]) -> str:
    """Return the section of a task: a table, then what each tool prints."""
    lines = [f"### {task.name}", "", "| tool | done | keys | seconds |", "|---|---|---|---|"]
    for tool in TOOLS:
        outcome = outcomes.get(tool)
        measured = f"{outcome.keystrokes} | {outcome.seconds:.2f}" if outcome else "| "
        lines.append(f"| {tool} | {result(task, tool, outcome)} | {measured} |")
    return "\n".join([*lines, "", *_printed(outcomes, addresses)])


def failure_section(
    failure: Failure, outcomes: Mapping[str, Outcome], addresses: Mapping[str, str]
) -> str:
    """Return the section of a failure: a table, then what each tool prints."""
    lines = [f"### {failure.name}", ""]
    lines += ["| tool | names the cause | exit code | seconds |", "|---|---|---|---|"]
    for tool in TOOLS:
        if (outcome := outcomes.get(tool)) is None:
            lines.append(f"| {tool} | no groups | | |")
            continue
        code = "none" if outcome.code is None else str(outcome.code)
        seconds = f"more than {LIMIT:.0f}" if outcome.code is None else f"{outcome.seconds:.2f}"
        lines.append(f"| {tool} | {cause(failure, outcome)} | {code} | {seconds} |")
    return "\n".join([*lines, "", *_printed(outcomes, addresses)])


def _printed(outcomes: Mapping[str, Outcome], addresses: Mapping[str, str]) -> Sequence[str]:
    lines = ["```text"]
    for tool in TOOLS:
        if outcome := outcomes.get(tool):
            prompt = "\n".join(f"$ {line}" for line in outcome.command.splitlines())
            lines += [prompt, _trimmed(outcome.output) or "(nothing)", ""]
    lines[-1] = "```"
    return [_named("\n".join(lines), addresses), ""]


def _trimmed(output: str) -> str:
    found = [
        line.rstrip()
        for line in _ESCAPES.sub("", output).splitlines()
        if line.strip() and not _CONFIGURATION.match(line)
    ]
    shown = [
        line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 2]} …" for line in found[:_LINES]
    ]
    if len(found) > _LINES:
        shown.append(f"… {len(found) - _LINES} more lines")
    return "\n".join(shown)


def _named(text: str, addresses: Mapping[str, str]) -> str:
    """Replace the ports, which differ from run to run."""
    for address, name in addresses.items():
        text = text.replace(address, name)
        text = re.sub(rf"\b{address.rpartition(':')[2]}\b", name.rpartition(":")[2], text)
    return text
