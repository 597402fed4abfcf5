"""How tests/peer_suites compares the control with ottla's stand-in, and reads their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.peer_suites import comparison, report, results, sources
from tests.peer_suites.__main__ import main
from tests.peer_suites.comparison import CRASHED, FAILED, MISSING, PASSED, SKIPPED, compare
from tests.peer_suites.suite import Checkout, Difference, Suite, covers
from tests.peer_suites.suites import SUITES
from tests.support.jars import MissingPrerequisiteError

A_REASON = Difference("a reason")
BY_CHANCE = Difference("fails by chance", always=False)


@pytest.mark.parametrize("outcome", [FAILED, SKIPPED, CRASHED, MISSING])
def test_a_test_that_only_the_control_passes_is_a_failure_unless_it_is_listed(outcome: str) -> None:
    control, ours = {"t.py::a": PASSED, "t.py::b": PASSED}, {"t.py::a": PASSED, "t.py::b": outcome}
    unlisted = compare(control, ours, {})
    assert (unlisted.ok, unlisted.unlisted) == (False, {"t.py::b": outcome})
    listed = compare(control, ours, {"t.py::b": A_REASON})
    assert (listed.ok, listed.remainder, listed.share) == (True, {"t.py::b": A_REASON}, 0.5)


def test_a_test_that_ours_did_not_collect_is_missing() -> None:
    compared = compare({"t.py::a": PASSED, "t.py::b": PASSED}, {"t.py": FAILED}, {})
    assert compared.unlisted == {"t.py::a": MISSING, "t.py::b": MISSING}


@pytest.mark.parametrize("outcome", [FAILED, SKIPPED, CRASHED])
def test_what_the_control_does_not_pass_says_nothing(outcome: str) -> None:
    control = {"t.py::a": PASSED, "t.py::b": outcome, "t.py::c": outcome}
    ours = {"t.py::a": PASSED, "t.py::b": FAILED, "t.py::c": PASSED}
    compared = compare(control, ours, {})
    assert (compared.ok, compared.control, compared.only_ours) == (True, ["t.py::a"], ["t.py::c"])


def test_a_listed_test_that_passes_is_stale() -> None:
    outcomes = {"t.py::a": PASSED, "t.py::b[1]": PASSED, "t.py::b[2]": PASSED}
    compared = compare(outcomes, outcomes, {"t.py::b": A_REASON})
    assert (compared.ok, compared.stale) == (False, {"t.py::b": "passes"})


def test_an_entry_is_needed_while_one_of_its_tests_fails() -> None:
    control = {"t.py::b[1]": PASSED, "t.py::b[2]": PASSED}
    compared = compare(control, {**control, "t.py::b[2]": FAILED}, {"t.py::b": A_REASON})
    assert compared.ok


def test_a_listed_test_that_does_not_exist_is_stale() -> None:
    outcomes = {"t.py::a": PASSED}
    assert compare(outcomes, outcomes, {"t.py::z": A_REASON}).stale == {"t.py::z": "no such test"}


def test_a_test_that_fails_by_chance_may_pass() -> None:
    outcomes = {"t.py::a": PASSED}
    assert compare(outcomes, outcomes, {"t.py::a": BY_CHANCE}).ok
    assert compare(outcomes, {"t.py::a": FAILED}, {"t.py::a": BY_CHANCE}).ok


def test_a_suite_without_a_passing_test_fails() -> None:
    assert not compare({}, {}, {}).ok


def test_a_key_covers_whole_names() -> None:
    assert covers("t.py::a", "t.py::a")
    assert covers("t.py::a", "t.py::a[1]")
    assert covers("t.py", "t.py::a")
    assert not covers("t.py::a", "t.py::ab")


def test_a_failed_test_runs_again_with_both_and_a_listed_one_does_not() -> None:
    control = {"t.py::a": FAILED, "t.py::b": PASSED, "t.py::c": PASSED, "t.py::d": SKIPPED}
    ours = {"t.py::a": PASSED, "t.py::b": CRASHED, "t.py::c": FAILED, "t.py::d": SKIPPED}
    again = comparison.to_repeat(control, ours, {"t.py::c": A_REASON})
    assert again == ["t.py::a", "t.py::b"]


def test_a_test_that_passes_again_is_unstable() -> None:
    control, control_again = {"a": FAILED, "b": PASSED}, {"a": PASSED, "b": FAILED}
    ours, ours_again = {"a": FAILED, "b": FAILED}, {"a": FAILED, "b": PASSED}
    unstable = comparison.unstable(control, control_again, ours, ours_again)
    assert unstable == {"a": "control", "b": "ours"}
    # A test that passed first and failed then counts as passed.
    assert comparison.merge(control, control_again) == {"a": PASSED, "b": PASSED}
    assert comparison.merge(ours, ours_again) == {"a": FAILED, "b": PASSED}


def test_a_test_that_ended_the_process_has_crashed(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    write(
        file,
        {"collected": ["a", "b", "c"]},
        {"started": "a"},
        {"test": "a", "outcome": PASSED},
        {"started": "b"},
    )
    first = results.read(file)
    assert not first.complete
    assert first.all_outcomes == {"a": PASSED, "b": CRASHED, "c": MISSING}
    # The process that goes on.
    write(file, {"collected": ["c"]}, {"started": "c"}, {"test": "c", "outcome": FAILED})
    second = results.read(file)
    assert second.complete
    assert second.outcomes == {"a": PASSED, "b": CRASHED, "c": FAILED}


def test_the_end_of_a_line_that_was_cut_off_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"started": "a"}\n{"test": "a", "outco')
    assert results.read(file).outcomes == {"a": CRASHED}


def test_a_missing_or_changed_checkout_says_how_to_provide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sources.CHECKOUTS, str(tmp_path))
    directory = tmp_path / "peer"
    checkout = Checkout("peer", "https://example.org/peer", "c0ffee", ("tests",), "")
    with pytest.raises(
        MissingPrerequisiteError, match=r"fetch --depth 1 https://example\.org/peer"
    ):
        sources.checked_checkout(checkout)
    (directory / "tests").mkdir(parents=True)
    (directory / "tests" / "test_a.py").write_text("def test_a(): ...\n")
    with pytest.raises(MissingPrerequisiteError, match="other files than commit c0ffee"):
        sources.checked_checkout(checkout)
    found = sources.digest(directory, ["tests"])
    assert directory == sources.checked_checkout(
        Checkout("peer", "https://example.org/peer", "c0ffee", ("tests",), found)
    )


def test_a_suite_that_cannot_run_fails_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(sources.CHECKOUTS, str(tmp_path))
    monkeypatch.setattr(sources, "PEERS", tmp_path)
    monkeypatch.setattr(report, "REPORT", tmp_path / "report.md")
    assert main(["kafka-python-unit"]) == 1
    assert "not run: no checkout of kafka-python" in capsys.readouterr().out


def test_the_report_has_each_remainder_with_its_reason() -> None:
    suite = next(suite for suite in SUITES if suite.name == "aiokafka")
    control = {"tests/t.py::a": PASSED, "tests/t.py::b[x]": PASSED, "tests/t.py::c": FAILED}
    ours = {**control, "tests/t.py::b[x]": FAILED}
    text = report.render([(suite, compare(control, ours, {"tests/t.py::b": A_REASON}))])
    assert "| 3 | 2 | 1 (50 %) | 97 % | 1 |" in text
    assert "- `t.py::b[x]`: a reason" in text
    assert "Does not pass with the control:\n\n- `t.py::c`" in text


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_each_suite_is_complete(suite: Suite) -> None:
    plugins = Path(report.__file__).parent / "plugins"
    assert all((plugins / f"{plugin}.py").is_file() for plugin in suite.plugins)
    assert all(entry.reason for entry in suite.expected.values())
    assert not [key for key in suite.expected if entry_is_excluded(key, suite.excluded)]


def entry_is_excluded(key: str, excluded: Mapping[str, str]) -> bool:
    return any(covers(other, key) for other in excluded)


def write(file: Path, *documents: dict[str, object]) -> None:
    with file.open("a") as output:
        output.writelines(f"{json.dumps(document)}\n" for document in documents)
