"""The table of mistakes: tests/golden/mistakes has the expected messages, word for word.

The gate compares the messages; the deep tier also checks how soon they appear, on a quiet machine.
"""

from __future__ import annotations

import pytest

from ottla.testing import MockCluster
from tests.mistakes.calls import CALLS
from tests.mistakes.connections import CONNECTIONS
from tests.mistakes.scene import Make, Reported, Scene
from tests.support.golden import check_golden

# Seconds until a mistake is reported, in addition to its own timeout (3 s, 8 s).
REPORTED_WITHIN = 5.0


def report(make: Make) -> tuple[Scene, Reported]:
    with MockCluster(brokers=3, auto_create_topics=False) as cluster:
        scene = Scene(cluster)
        return scene, make(scene)


def entry(name: str, make: Make) -> str:
    scene, found = report(make)
    assert len(found.text) > 20, f"{name}: {found}"
    return f"{name}\n  {found.where}\n  {scene.text(found.text)}"


@pytest.mark.parametrize("kind", ["calls", "connections"])
def test_mistakes_are_reported_with_these_messages(kind: str) -> None:
    table = {"calls": CALLS, "connections": CONNECTIONS}[kind]
    check_golden(f"mistakes/{kind}", "\n\n".join(entry(*row) for row in table.items()))


def test_there_are_at_least_forty_mistakes() -> None:
    assert len(CALLS | CONNECTIONS) >= 40


@pytest.mark.deep
@pytest.mark.parametrize("name", [*CALLS, *CONNECTIONS])
def test_mistakes_are_reported_soon(name: str) -> None:
    _, found = report((CALLS | CONNECTIONS)[name])
    assert found.seconds < REPORTED_WITHIN, found
