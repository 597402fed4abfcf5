"""The matrix of versions: its rows, kept results, pages, and the sample of a day."""

from __future__ import annotations

import datetime as dt
import re
import sys
from pathlib import Path

import pytest

from tests.gate.selections import SELECTIONS
from tests.matrix import __main__ as runner
from tests.matrix import results, sample
from tests.matrix.page import page, readme
from tests.matrix.results import Counts, Result
from tests.matrix.rows import rows
from tests.matrix.suites import Suite
from tests.spark.older_releases import skip_if_refused
from tests.support import kafka_releases
from tests.support.jars import REPOSITORY

PYTHONS = ["3.10", "3.12", "3.13"]


def test_the_pages_are_current() -> None:
    written = REPOSITORY / "docs" / "reference" / "matrix.md"
    assert written.read_text() == page(), "run make docs"
    readme_text = (REPOSITORY / "README.md").read_text()
    assert readme_text == readme(readme_text), "run make docs"


def test_every_kept_result_is_of_a_row() -> None:
    assert set(results.read()) <= {row.name for row in rows()}


def test_the_gate_runs_one_row_of_each_subject() -> None:
    in_gate = [row.subject for row in rows() if row.in_gate]
    assert sorted(in_gate) == ["Kafka", "Python", "Spark"]


def test_each_set_of_brokers_is_fetched_by_its_name() -> None:
    script = (REPOSITORY / "tools" / "jars.sh").read_text()
    for release in kafka_releases.RELEASES:
        assert f"[{release}]=" in script


def test_a_release_of_brokers_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kafka_releases.VARIABLE, "kafka-1.0")
    with pytest.raises(ValueError, match=r"OTTLA_TEST_KAFKA=kafka-1\.0: no such release; .* kafka"):
        kafka_releases.selected()
    monkeypatch.setenv(kafka_releases.VARIABLE, "kafka-3.9")
    assert kafka_releases.selected() == "kafka-3.9"


def test_a_run_is_counted_and_what_fails_twice_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "DIRECTORY", tmp_path)
    tests = tmp_path / "test_of_a_row.py"
    tests.write_text(
        f"""
import pathlib, pytest
def test_passes(): pass
def test_is_flaky():
    mark = pathlib.Path({str(tmp_path / "mark")!r})
    there = mark.exists()
    mark.touch()
    assert there
@pytest.mark.parametrize("n", range(2))
def test_fails(n): assert n
def test_is_skipped(): pytest.skip("a reason")
@pytest.fixture
def broken(): raise OSError
def test_has_no_fixture(broken): pass
"""
    )
    row = next(row for row in rows() if row.in_gate)
    own = ["-p", "no:cacheprovider", "--rootdir=.", "-c/dev/null"]
    arguments = ["--numprocesses=2", *own, tests.name]
    chosen = Suite("1.2.3", Path(sys.executable), arguments, {"PYTHONPATH": str(REPOSITORY)})
    monkeypatch.chdir(tmp_path)
    found = runner.run(row, chosen, "0")
    assert (found.version, found.counts.passed) == ("1.2.3", 3)
    failed = [f"{tests.name}::test_fails[0]", f"{tests.name}::test_has_no_fixture"]
    assert found.counts.failed == failed
    assert found.counts.flaky == [f"{tests.name}::test_is_flaky"]
    assert found.counts.skipped == {"a reason": 1}
    assert "test_fails[0]" in (tmp_path / f"{row.name}.log").read_text()


def test_a_run_without_a_report_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "DIRECTORY", tmp_path)
    row = rows()[0]
    missing = Suite("1.2.3", Path(sys.executable), ["-c", "/dev/null", "--no-such-option"])
    with pytest.raises(RuntimeError, match="pytest ended early"):
        runner.run(row, missing, None)


def test_results_are_kept_by_row(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    first = Result("3.13.0", "2026-11-27", 4.5, "Linux x86_64", Counts(3, ["t"], {"why": 2}))
    results.keep({"python-3.13": first, "kafka-3.9": first}, file)
    second = Result("3.13.1", "2026-11-28", 4.0, "Linux x86_64", Counts(5))
    results.keep({"python-3.13": second}, file)
    assert results.read(file) == {"kafka-3.9": first, "python-3.13": second}


def test_a_version_that_failed_is_not_called_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "## What it runs on\n\n| a |\n| b |\n\nmore\n"
    good = Result("3.13.0", "2026-11-27", 4.5, "Linux x86_64", Counts(3))
    bad = Result("3.12.1", "2026-11-27", 4.5, "Linux x86_64", Counts(3, ["tests/a.py::t"]))
    kept = {"python-3.13": good, "python-3.12": bad}
    monkeypatch.setattr("tests.matrix.page.read", lambda: kept)
    [line] = re.findall(r"^\| Python .*", readme(text), re.MULTILINE)
    assert line == "| Python | 3.10 to 3.14 | 3.11 | 3.13 |"
    assert readme(text).endswith("|\n\nmore\n")
    assert "| Python 3.12 | 3.12.1 | 2026-11-27 | 3 | 1 | 0 | 0 | 4.5 |" in page()
    assert "- `tests/a.py::t` failed" in page()
    assert "| Spark 4.0 | | not run |" in page()


def test_each_file_has_its_turn_on_each_python() -> None:
    files = sample.files_to_choose_from()
    start = dt.date(2026, 11, 27)
    met = set()
    for n in range(sample.PARTS * len(PYTHONS)):
        chosen = sample.sample(start + dt.timedelta(n), PYTHONS, files)
        met |= {(chosen.python, file) for file in chosen.files}
    assert met == {(python, file) for python in PYTHONS for file in files}
    assert "tests/mock/test_pickling.py" not in files


def test_a_sample_is_the_same_when_it_is_repeated() -> None:
    day, files = dt.date(2026, 11, 27), sample.files_to_choose_from()
    chosen = sample.sample(day, PYTHONS, files)
    assert chosen == sample.sample(day, PYTHONS, files)
    assert chosen.command == "make matrix-sample ARGS=2026-11-27"
    assert 10 < len(chosen.files) < 40


def test_the_packages_of_a_sample_are_pinned_ones() -> None:
    kept = sample.requirements().read_text()
    assert "\npytest==" in kept
    assert "\nconfluent-kafka==" in kept
    assert not re.search(r"^(?:pyspark|mypy|ruff)==", kept, re.MULTILINE)
    assert set(kept.splitlines()) < set(
        (REPOSITORY / "requirements" / "dev.txt").read_text().splitlines()
    )


def test_a_row_runs_the_selection_of_the_gate() -> None:
    assert SELECTIONS["test-python"][-4:] == (
        *("tests/mock", "tests/mistakes", "tests/doctor", "tests/cluster"),
    )


@pytest.mark.parametrize(
    ("error", "installed", "outcome"),
    [
        (
            "option maxBytesPerTrigger needs PySpark 4.2 or newer, and this is 4.1.4",
            "4.1.4",
            "skipped",
        ),
        (
            "option maxBytesPerTrigger needs PySpark 4.2 or newer, and this is 4.1.4",
            "4.2.1",
            "failed",
        ),
        ("AssertionError", "4.1.4", "failed"),
    ],
)
def test_an_option_that_an_older_spark_lacks_is_skipped_with_the_reason(
    error: str, installed: str, outcome: str
) -> None:
    report = pytest.TestReport(
        "tests/a.py::t", ("tests/a.py", 7, "t"), {}, "failed", f"E   {error}", "call"
    )
    skip_if_refused(report, installed)
    assert report.outcome == outcome
    if outcome == "skipped":
        assert report.longrepr == (
            "tests/a.py",
            7,
            "Skipped: the option maxBytesPerTrigger needs PySpark 4.2",
        )
