"""The workflows use actions by the hash of a commit, since a tag may be moved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.peer_suites.suite import Checkout
from tests.peer_suites.suites import SUITES
from tests.support.jars import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert used
    assert [each for each in used if not PINNED.fullmatch(each)] == []


def test_the_checkouts_of_other_clients_are_those_of_their_suites() -> None:
    workflow = (REPOSITORY / ".github" / "workflows" / "deep.yml").read_text()
    pattern = r"repository: (.*)\n +ref: (.*)\n +path: \.ottla-build/peers/checkouts/(.*)\n"
    sources = {suite.source for suite in SUITES if isinstance(suite.source, Checkout)}
    wanted = {(s.repository.removeprefix("https://github.com/"), s.commit, s.name) for s in sources}
    assert set(re.findall(pattern, workflow)) == wanted
