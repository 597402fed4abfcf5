"""Golden texts: what a command says, kept word for word in tests/golden.

`OTTLA_GOLDEN=write` writes them anew; the difference is then for people to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from ottla.doctor.facts import facts_from
from ottla.doctor.render import render
from ottla.doctor.tree import Style
from ottla.doctor.verdict import judge
from tests.support.jars import REPOSITORY

_DIRECTORY = REPOSITORY / "tests" / "golden"
# The day that the run's day is shown as.
_TODAY = date(2030, 1, 1)
_DATE = re.compile(r"\b(20\d\d-\d\d-\d\d)( \d\d:\d\d UTC)?")


def check_golden(name: str, text: str) -> None:
    """Compare a text with the one that is kept under a name."""
    path = _DIRECTORY / f"{name}.txt"
    if os.environ.get("OTTLA_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.is_file(), f"{path} does not exist: OTTLA_GOLDEN=write writes it"
    assert text + "\n" == path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Same:
    """What differs from run to run, and what it is shown as: one for one, so that what was
    different stays different.

    Attributes:
        ports: a port of the pictures, for each of the run's.
        texts: likewise for parts of addresses and names (a subnet, a topic).
        today: the run's day; all dates move with it.
    """

    ports: Mapping[int, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    today: date | None = None

    def __post_init__(self) -> None:
        for known in (self.ports, self.texts):
            assert len(set(known.values())) == len(known), f"two are shown as one: {known}"

    @property
    def moved(self) -> timedelta:
        """How far dates are moved."""
        return timedelta() if self.today is None else _TODAY - self.today


def picture(told: Mapping[str, Any], same: Same) -> str:
    """Return the picture of a report (`Report.to_dict()`) with what differs replaced.

    Besides what `same` says: times are 0; the cluster's id, the number of APIs, the release, the
    active controller, the disks and the resolver's words are always the same. The report is judged
    and drawn again, since the length of a name decides where lines end; what is found must be what
    was found before.
    """
    facts = facts_from(_same(dict(told["facts"]), same))
    now = datetime.combine(_TODAY, time(), timezone.utc).timestamp()
    findings = judge(facts, now)
    before = [f for f in told["findings"] if not f["code"].startswith("slow_")]
    keys = [(f["severity"], f["phase"], f["code"], tuple(f["brokers"])) for f in before]
    assert [(f.severity, f.phase, f.code, f.brokers) for f in findings] == keys
    return render(facts, findings, Style())


def _same(value: Any, same: Same, name: str = "") -> Any:
    if name == "apis":
        # What the mock serves grows with it, and brokers are upgraded.
        return dict.fromkeys(list(value)[:1], (0, 0))
    if name == "release" and value is not None:
        return "4.1"
    if name == "quorum" and value is not None:
        # Which controller leads is the election's choice.
        leader = None if value["leader"] is None else min(v["id"] for v in value["voters"])
        value = {**value, "leader": leader}
    if name in {"total_bytes", "usable_bytes"} and value is not None:
        # Half of each disk is free.
        return 200 if name == "total_bytes" else 100
    if name == "lag_ms" and value is not None:
        return value // 10_000 * 10_000
    if isinstance(value, dict):
        return {key: _same(item, same, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_same(item, same, name) for item in value]
    if name == "seconds":
        return 0.0
    if name == "port":
        return same.ports.get(value, value)
    if name == "not_after" and value is not None:
        return value + same.moved.total_seconds()
    if name == "cluster_id":
        return "the-cluster" if value else value
    return _text(value, same) if isinstance(value, str) else value


def _text(value: str, same: Same) -> str:
    for found, shown in same.texts.items():
        value = value.replace(found, shown)
    value = re.sub(r"failed to lookup address.*", "the resolver's words", value)
    value = re.sub(r"within \d+ ms", "within T ms", value)
    return _DATE.sub(lambda found: _moved(found, same), value)


def _moved(found: re.Match[str], same: Same) -> str:
    day = str(date.fromisoformat(found[1]) + same.moved)
    return f"{day} 12:00 UTC" if found[2] else day
