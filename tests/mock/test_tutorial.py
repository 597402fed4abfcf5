"""The tutorial, step by step as a reader does it: programs and commands in their order.

Invariant: of the programs and commands only the port is another one, the same in all of them.
"""

from __future__ import annotations

import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.mock.test_documentation_snippets import Program
from tests.support.command import ottla_here
from tests.support.ports import free_ports
from tests.support.snippets import TUTORIAL, Snippet, snippets

STEPS = [snippet for snippet in snippets() if snippet.of_tutorial]
# What each program prints; those that end by Ctrl-C run on until the end of the test.
PRINTS = {
    "cluster.py": r"^ottla gateway: 127\.0\.0\.1:\d+$",
    "write.py": r"^5000 orders written$",
    "report.py": r"Berlin +│ +1260 │ +27190\.0 │\n│ Lagos +│ +1282 │ +29056\.5 │",
    "hours.py": r"2026-11-27 10:00:00 UTC ┆ 1400 ",
    "dashboard.py": r"^109292\.0 in .*dashboard\.html$",
}
ENDLESS = ("cluster.py", "dashboard.py")
# What each command prints: the console, which serves until Ctrl-C, is one of test_console*.py.
COMMANDS = {
    "ottla topology": "3 brokers, 0 topics",
    "ottla topics create": "created topic shop-orders",
    "ottla topics describe": "shop-orders: 3 partitions",
    "ottla consume localhost:9092 -t shop-orders --last": '(.*"cents":.*\n){3}',
    "ottla consume localhost:9092 -t shop-orders --where": '(.*"city":"Lima".*\n){2}',
    "ottla groups lag": "dashboard",
}


def name_of(snippet: Snippet) -> str:
    """Return the name in a program's first line."""
    match = re.match(r"# (\w+\.py)\n", snippet.text)
    assert match is not None, snippet.id
    return match[1]


@pytest.fixture
def programs() -> list[Program]:
    """The programs that run until the end of the test, the first one last."""
    return []


def at(port: int, text: str) -> str:
    """Return a text with another port of the Kafka."""
    return re.sub(r"\b9092\b", str(port), text)


def start(snippet: Snippet, port: int, directory: Path) -> Program:
    """Start a program, and wait until it has printed what the table says."""
    name = name_of(snippet)
    # As the command of the environment, which is not on the path of the tests.
    text = at(port, snippet.text).replace('["ottla", ', f'[{sys.executable!r}, "-m", "ottla", ')
    (directory / name).write_text(text, encoding="utf-8")
    program = Program([name], directory, {})
    if not program.printed(PRINTS[name], timeout=60):
        interrupt(program)
        pytest.fail(f"{name}: {program.output}")
    return program


def interrupt(program: Program) -> None:
    """Press Ctrl-C, and wait until the program has ended."""
    program.process.send_signal(signal.SIGINT)
    program.end()


def run_command(line: str, port: int) -> None:
    """Run a command in this process."""
    words = shlex.split(at(port, line))
    done = ottla_here(*words[1:])
    assert done.code == 0, done.err
    [expected] = [text for command, text in COMMANDS.items() if line.startswith(command)]
    out = done.out.decode()
    assert re.search(expected, out), out


def test_a_reader_who_does_each_step_has_a_dashboard(
    tmp_path: Path, programs: list[Program]
) -> None:
    [port] = free_ports(1)
    try:
        for step in STEPS:
            if step.language == "python":
                program = start(step, port, tmp_path)
                if name_of(step) in ENDLESS:
                    programs.append(program)
                else:
                    assert program.end() == 0, program.output
                continue
            for line in step.text.splitlines():
                if line.startswith("ottla ") and not line.startswith("ottla console"):
                    run_command(line, port)
        page = (tmp_path / "dashboard.html").read_text(encoding="utf-8")
        assert re.findall(r"<p>(\w+)<br>.*?</meter> ([\d,.]+)", page)[0] == ("Lagos", "29,056.50")
    finally:
        for program in reversed(programs):
            interrupt(program)


def test_each_program_and_command_is_expected_to_print_something() -> None:
    assert {step.page for step in STEPS} == {TUTORIAL}
    programs = [name_of(step) for step in STEPS if step.language == "python"]
    assert programs == list(PRINTS)
    assert {step.language for step in STEPS} == {"python", "sh"}
