"""docs/compare/stand-ins.md: each difference has a test that exists, and its place by name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support.jars import REPOSITORY

PAGE = REPOSITORY / "docs" / "compare" / "stand-ins.md"
COLUMNS = ["client", "topic", "the client", "ottla's stand-in", "reason", "test"]
CLIENTS = {"aiokafka", "confluent-kafka", "kafka-python"}
_CELL = re.compile(r"(?<!\\)\|")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    """Return the cells of the page's only table, without the line below its head."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head, _, *body = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines]
    assert head == COLUMNS
    return body


@cache
def functions(file: Path) -> set[str]:
    """Return the names of the functions of a module."""
    return {
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_each_difference_has_a_test_that_exists() -> None:
    missing: list[str] = []
    for row in rows():
        for test in row[-1].split("<br>"):
            found = _TEST.fullmatch(test)
            assert found is not None, f"{row[:2]}: {test} is no test"
            file, function = REPOSITORY / found[1], found[2]
            if not file.exists() or function not in functions(file):
                missing.append(f"{row[0]}, {row[1]}: {test}")
    assert not missing, "these tests do not exist:\n" + "\n".join(missing)


def test_differences_are_complete_and_sorted_by_client_and_topic() -> None:
    places = [(client, topic.replace("`", "").casefold()) for client, topic, *_ in rows()]
    assert places == sorted(set(places))
    assert {client for client, _ in places} == CLIENTS
    assert all(all(row) for row in rows())
