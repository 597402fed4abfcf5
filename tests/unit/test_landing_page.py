"""The first screen of the documentation and of README.md: short, the same, and true.

Its program runs with the other snippets, the report of the doctor is a golden text, and its figures
are those of the benchmarks.
"""

from __future__ import annotations

import re

from tests.support.figures import cell, differences, prose, without
from tests.support.jars import REPOSITORY
from tests.support.snippets import snippets

PAGE, README = "docs/index.md", "README.md"
REPORT = REPOSITORY / "tests" / "golden" / "doctor" / "advertised_localhost.txt"
PICTURES = ("benchmarks/readme.svg", "guides/console/map-1440-light.jpg")


def text(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def first(page: str, language: str) -> str:
    """Return the first block of a language."""
    return next(snippet.text for snippet in snippets(language) if snippet.page == page)


def test_the_program_has_ten_lines() -> None:
    program = first(PAGE, "python")
    assert len(program.splitlines()) <= 10
    assert first(README, "python") == program


def test_the_report_is_one_that_a_test_made() -> None:
    command, _, report = first(PAGE, "text").partition("\n")
    assert command == "$ ottla doctor 127.0.0.1:9092"
    assert report == REPORT.read_text(encoding="utf-8")
    assert first(README, "text") == first(PAGE, "text")


def test_the_pictures_are_there() -> None:
    for picture in PICTURES:
        assert (REPOSITORY / "docs" / picture).stat().st_size > 0
        assert f"]({picture})" in text(PAGE)
        assert f"/main/docs/{picture})" in text(README)


def read_into_arrow(column: str) -> str:
    return cell("benchmarks/index.md", "Consumers", "100 B | none", column)


FIGURES = {
    "# values of 100 bytes per CPU second, confluent-kafka's `consume(500)` # |": [
        read_into_arrow("`poll_arrow`, value"),
        read_into_arrow("confluent-kafka `consume(500)`"),
    ]
}


def test_figures_are_the_measured_ones() -> None:
    page = prose("index.md")
    assert differences(page, FIGURES) == []
    assert re.findall(r"\d[\d,]*,\d{3}", without(page, list(FIGURES))) == []
