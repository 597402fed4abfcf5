"""Golden texts: what a command says, kept word for word in tests/golden.

`OTTLA_GOLDEN=write` writes them anew; the difference is then for people to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ottla.doctor import Report
from ottla.doctor.facts import facts_from
from ottla.doctor.picture import Style, draw
from ottla.doctor.verdict import judge
from tests.support.jars import REPOSITORY

_DIRECTORY = REPOSITORY / "tests" / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with the one that is kept under a name."""
    path = _DIRECTORY / f"{name}.txt"
    if os.environ.get("OTTLA_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.is_file(), f"{path} does not exist: OTTLA_GOLDEN=write writes it"
    assert text + "\n" == path.read_text(encoding="utf-8")


def picture(report: Report, ports: Mapping[int, int]) -> str:
    """Return the picture of a report with what differs from run to run replaced.

    Times are 0; the ports, the cluster's id and the resolver's words are always the same. The
    report is judged and drawn again, since the length of a name decides where lines end.
    """
    facts = facts_from(_same(report.to_dict()["facts"], ports))
    assert [f.code for f in judge(facts)] == [f.code for f in report.findings if f.code != "slow"]
    return draw(facts, judge(facts), Style())


def _same(value: Any, ports: Mapping[int, int], name: str = "") -> Any:
    if name == "apis":
        # How many the mock serves grows with it.
        return dict.fromkeys(list(value)[:1], (0, 0))
    if isinstance(value, dict):
        return {key: _same(item, ports, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_same(item, ports, name) for item in value]
    if name == "seconds":
        return 0.0
    if name == "port":
        return ports.get(value, value)
    if name == "cluster_id":
        return "the-cluster" if value else value
    if name == "message" and value:
        value = re.sub(r"failed to lookup address.*", "the resolver's words", value)
        return re.sub(r"within \d+ ms", "within T ms", value)
    return value
