"""docs/fix/errors.md: each error code that ottla does something about, and commands that exist."""

from __future__ import annotations

import re
import shlex

import pytest

from ottla.cli import build_parser
from ottla.errors import ErrorCode
from tests.support.jars import REPOSITORY

PAGE = (REPOSITORY / "docs" / "fix" / "errors.md").read_text(encoding="utf-8")
RECOVERY = (REPOSITORY / "rust/client/src/error/recovery.rs").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (.*) \| (.*?) ?\|$", re.MULTILINE)
ARM = re.compile(r"((?:E::\w+\s*\|?\s*)+)=> Recovery::(\w+)")
NAMES = {code.name.replace("_", "").lower(): code.name for code in ErrorCode}


def rows() -> list[tuple[set[str], str]]:
    """Return the codes of each row, and what ottla does."""
    return [(set(re.findall(r"\w+", codes)), action) for codes, action, _ in ROW.findall(PAGE)]


def recoveries() -> dict[str, str]:
    """Return the recovery from each code that is not left to the application."""
    return {
        NAMES[variant.lower()]: recovery
        for variants, recovery in ARM.findall(RECOVERY)
        for variant in re.findall(r"E::(\w+)", variants)
    }


def test_each_code_that_ottla_recovers_from_is_explained_once() -> None:
    found = recoveries()
    recovered = {code for code, what in found.items() if what != "Done"}
    assert len(recovered) > 40
    listed = [code for codes, _ in rows() for code in codes]
    assert len(listed) == len(set(listed))
    raised = {code for codes, action in rows() if action.startswith("raises") for code in codes}
    assert set(listed) - raised == recovered - raised


def test_codes_of_a_row_have_the_same_recovery() -> None:
    found = recoveries()
    mixed = [
        codes
        for codes, action in rows()
        if not action.startswith("raises") and len({found.get(code) for code in codes}) > 1
    ]
    assert mixed == []


COMMANDS = sorted(set(re.findall(r"`(ottla [^`]+)`", PAGE)))


def test_the_page_names_commands() -> None:
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its names are there, with the arguments that the page gives or with `--help`."""
    words = [word for word in shlex.split(command)[1:] if word.islower() and word[0] != "-"]
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([*words, "--help"])
    assert ended.value.code == 0
    options = re.findall(r"--[\w-]+", command)
    printed = capsys.readouterr().out
    assert [option for option in options if option not in printed] == []
