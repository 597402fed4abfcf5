"""The commands of `ottla registry` with `--json`, in success and failure, against the schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.cli.schema_files import names
from ottla.testing import MockRegistry, RegistryFault
from tests.mock.test_command_line_registry import SUBJECT, order, registered
from tests.support.command import ottla_here
from tests.support.command_schemas import COMPARISONS, check_result

__all__ = ["registered"]  # a fixture

# The command, its arguments, and its exit code; FILE is compatible, and BAD is not.
DONE = [
    ("subjects", "", 0),
    ("versions", SUBJECT, 0),
    ("show", SUBJECT, 0),
    ("show", "--id 4", 0),
    ("diff", SUBJECT, 1),
    ("diff", f"{SUBJECT} 3 3", 0),
    ("compatibility", f"{SUBJECT} FILE", 0),
    ("compatibility", f"{SUBJECT} BAD", 1),
    ("register", f"{SUBJECT} FILE --dry-run", 0),
    ("register", f"{SUBJECT} FILE --yes", 0),
    ("level", SUBJECT, 0),
    ("set-level", f"full {SUBJECT} --yes", 0),
    ("reset-level", "--yes", 0),
    ("mode", SUBJECT, 0),
    ("set-mode", f"readonly {SUBJECT} --yes", 0),
    ("reset-mode", f"{SUBJECT} --yes", 0),
    ("delete", f"{SUBJECT} --yes", 0),
]
FAILED = [
    ("versions", "nosuch", 1),
    ("show", "nosuch", 1),
    ("show", "", 2),
    ("diff", "nosuch", 2),
    ("compatibility", f"{SUBJECT} none.avsc", 2),
    ("register", f"{SUBJECT} none.avsc", 2),
    ("set-level", f"some {SUBJECT} --yes", 2),
    ("delete", "nosuch --yes", 1),
]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "FILE").write_text(order("id", "amount", "note"))
    bad = order("id").replace(', "default": 0', "").replace("id", "key")
    (tmp_path / "BAD").write_text(bad)
    monkeypatch.chdir(tmp_path)


def run(registry: MockRegistry, command: str, arguments: str, code: int) -> tuple[Any, list[Any]]:
    typed = ["--type", "avro"] if command in {"compatibility", "register"} else []
    words = [command, *arguments.split(), *typed, "--json", "--schema-registry", registry.url]
    return check_result(f"registry {command}", ottla_here("registry", *words), code)


@pytest.mark.parametrize(("command", "arguments", "code"), DONE)
def test_a_command_that_works(
    registered: MockRegistry, command: str, arguments: str, code: int
) -> None:
    document, _ = run(registered, command, arguments, code)
    assert document


@pytest.mark.parametrize(("command", "arguments", "code"), FAILED)
def test_a_command_that_fails(
    registered: MockRegistry, command: str, arguments: str, code: int
) -> None:
    document, errors = run(registered, command, arguments, code)
    assert document is None
    assert len(errors) == 1


@pytest.mark.parametrize(("command", "arguments"), [each[:2] for each in DONE])
def test_a_registry_that_refuses(registered: MockRegistry, command: str, arguments: str) -> None:
    registered.inject(RegistryFault.status(403, code=40301))
    code = 2 if f"registry {command}" in COMPARISONS else 1
    document, errors = run(registered, command, arguments, code)
    assert document is None
    assert len(errors) == 1


def test_every_command_is_tested() -> None:
    tested = {f"registry-{command}" for command, *_ in DONE}
    assert tested == {each for each in names() if each.startswith("registry-")}


def test_a_registration(registered: MockRegistry) -> None:
    planned, [hint] = run(registered, "register", f"{SUBJECT} FILE", 1)
    assert (planned["applied"], planned["results"], hint["name"]) == (False, [], "NotConfirmed")
    done, _ = run(registered, "register", f"{SUBJECT} FILE --yes", 0)
    [result] = done["results"]
    assert (done["applied"], result["outcome"]) == (True, "done")
    assert (result["item"]["subject"], result["item"]["version"]) == (SUBJECT, 4)
    again, _ = run(registered, "register", f"{SUBJECT} FILE --yes", 0)
    assert again["applied"] is False
    assert again["results"] == [{**result, "outcome": "unchanged"}]


@pytest.mark.parametrize(
    ("command", "arguments", "item"),
    [
        ("set-level", f"full {SUBJECT}", {"subject": SUBJECT}),
        ("set-level", "full", {"subject": None}),
        ("reset-level", "", {"subject": None}),
        ("set-mode", "import --force", {"subject": None}),
        ("reset-mode", SUBJECT, {"subject": SUBJECT}),
        ("delete", SUBJECT, {"subject": SUBJECT}),
        ("delete", f"{SUBJECT} --version 3", {"subject": SUBJECT, "version": 3}),
    ],
)
def test_a_result_names_the_subject(
    registered: MockRegistry, command: str, arguments: str, item: dict[str, Any]
) -> None:
    document, _ = run(registered, command, f"{arguments} --yes", 0)
    assert [each["item"] for each in document["results"]] == [item]


def test_an_error_names_the_subject(registered: MockRegistry) -> None:
    _, [error] = run(registered, "show", "nosuch", 1)
    assert error["item"] == {"subject": "nosuch"}


@pytest.mark.parametrize("more", ["--yes", "--dry-run"])
def test_an_incompatible_schema_is_an_error(registered: MockRegistry, more: str) -> None:
    document, [error] = run(registered, "register", f"{SUBJECT} BAD {more}", 1)
    assert (document["applied"], document["results"]) == (False, [])
    assert "incompatible" in json.dumps(document["plan"])
    assert error["name"] == "IncompatibleSchema"
