"""docs/guides/performance.md: its defaults are the client's, its figures are measured ones."""

from __future__ import annotations

import re

from ottla import _core
from tests.support.jars import REPOSITORY

PAGE = (REPOSITORY / "docs" / "guides" / "performance.md").read_text(encoding="utf-8")
SOURCES = ("benchmarks/index.md", "benchmarks/frontier.md", "design/consumer.md", "guides/spark.md")
# Of the text, not of an address, a key's value or the name of a version.
FIGURE = re.compile(r"(?<![\w.,=#-])(\d+\.\d+|\d{1,3}(?:,\d{3})+|\d+(?= MiB| µs))(?![\w.]*\d)")
FACTOR = re.compile(r"a factor of (\d+)")


def table(heading: str) -> dict[str, str]:
    """Return the cells of the first two columns of the rows whose second one is code."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \|", section, re.MULTILINE))


def test_the_defaults_are_those_of_the_client() -> None:
    listed = table("Producing") | table("Consuming")
    assert len(listed) == 15
    defaults = {name: default for name, _, default, *_ in _core.config_rows()}
    assert {name: defaults[name] for name in listed} == listed


def test_the_figures_are_measured_ones() -> None:
    measured = "\n".join(
        (REPOSITORY / "docs" / source).read_text(encoding="utf-8") for source in SOURCES
    )
    known = set(re.findall(r"\d[\d.,]*\d|\d+", measured))
    prose = re.sub(r"```.*?```|\]\([^)]*\)", "", PAGE, flags=re.DOTALL)
    prose = re.sub(r"Spark \d\.\d", "Spark", prose)
    figures = set(FIGURE.findall(prose))
    assert len(figures) > 40
    assert sorted(figures - known) == []


def test_the_factor_is_that_of_the_table() -> None:
    [factor] = FACTOR.findall(PAGE)
    rows = re.findall(r"^\| .* \| ([\d,]+) \|$", PAGE.partition("They are from")[0], re.MULTILINE)
    thousands = [int(row.replace(",", "")) for row in rows]
    assert int(factor) == max(thousands) // min(thousands)
