"""The golden texts of the doctor, each judged by the true cause of its set-up."""

from __future__ import annotations

import pytest

from tests.doctor.causes import CAUSES
from tests.doctor.causes.cause import Cause
from tests.doctor.judge import judge
from tests.doctor.shortcomings import SHORTCOMINGS
from tests.support.jars import REPOSITORY

_GOLDEN = REPOSITORY / "tests" / "golden" / "doctor"


@pytest.mark.parametrize("name", CAUSES)
def test_the_verdict_names_the_true_cause(name: str) -> None:
    """A shortcoming is listed with its grade; whatever is better or worse than listed fails."""
    judgement = judge(CAUSES[name], (_GOLDEN / f"{name}.txt").read_text())
    grade, _ = SHORTCOMINGS.get(name, ("right", ""))
    assert judgement.grade == grade, judgement


def test_each_golden_text_has_a_cause() -> None:
    found = {str(path.relative_to(_GOLDEN).with_suffix("")) for path in _GOLDEN.rglob("*.txt")}
    assert found == set(CAUSES)
    assert set(SHORTCOMINGS) <= set(CAUSES)


def test_the_doctor_is_right_and_never_certain_of_what_is_false() -> None:
    judged = [judge(c, (_GOLDEN / f"{name}.txt").read_text()) for name, c in CAUSES.items()]
    assert sum(found.grade == "right" for found in judged) >= 0.98 * len(judged)
    assert not any(found.certain for found in judged)


def report(*findings: str) -> str:
    return "bootstrap servers\n\nverdict\n" + "".join(f"  {finding}\n" for finding in findings)


CAUSE = Cause("a", "b", (r"broker 2\b", "quota"), ("raise",), ("disk",), ("broker 3",))


@pytest.mark.parametrize(
    ("findings", "grade", "certain"),
    [
        (["warning (TCP): broker 2 exceeds its quota\n    fix: raise it"], "half", False),
        (["error (TCP): broker 2 exceeds\n    its quota\n    fix: raise it"], "right", False),
        (["error (TCP): broker 2 exceeds its quota\n    fix: restart it"], "half", False),
        (["error (TCP): broker 2 is slow\n    fix: raise it"], "half", False),
        (["error (TCP): broker 1 is slow\n    fix: raise it"], "wrong", True),
        (["error (TCP): broker 1 may be slow\n    fix: raise it"], "wrong", False),
        (
            ["error (TCP): broker 2 exceeds its quota\n    fix: raise it; check the disk"],
            "wrong",
            True,
        ),
        (["note (TCP): the disk is full"], "wrong", True),
        ([], "wrong", True),
        (
            [
                "error (TCP): broker 2 exceeds its quota\n    fix: raise it",
                "error (TCP): broker 3 is late",
                "warning (TCP): broker 4 is late",
            ],
            "right",
            False,
        ),
        (
            [
                "error (TCP): broker 2 exceeds its quota\n    fix: raise it",
                "error (TCP): broker 4 is late",
            ],
            "half",
            False,
        ),
    ],
)
def test_the_judge(findings: list[str], grade: str, certain: bool) -> None:
    judgement = judge(CAUSE, report(*findings))
    assert (judgement.grade, judgement.certain) == (grade, certain), judgement


def test_the_judge_of_health() -> None:
    healthy = Cause("a", "b", severity="none", never=("hang",))
    assert judge(healthy, report()).grade == "right"
    assert judge(healthy, report("warning (TCP): slow")).grade == "right"
    assert judge(healthy, report("warning (TCP): it hangs")).certain
    assert judge(healthy, report("error (TCP): slow")).grade == "wrong"
