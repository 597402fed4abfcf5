"""The first screen of the documentation and of README.md: short, the same, and true.

Its program runs with the other snippets, the report of the doctor is a golden text, and its figures
are those of the benchmarks.
"""

from __future__ import annotations

import re

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


def test_figures_are_measured_ones() -> None:
    figures = re.findall(r"\d[\d,]*,\d{3}", text(PAGE))
    assert figures
    measured = text("docs/benchmarks/index.md")
    assert [figure for figure in figures if f" {figure} " not in measured] == []
