"""Golden texts: the exact output of commands, kept in tests/golden.

`OTTLA_GOLDEN=write` updates them; review the difference before committing it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from ottla._internal.style import Style
from ottla.doctor.checks.controllers import MAX_LAG_MS
from ottla.doctor.facts import facts_from
from ottla.doctor.findings import EXIT_CODES
from ottla.doctor.flowchart import box_of, ends_at, flowchart
from ottla.doctor.render import render
from ottla.doctor.verdict import judge
from tests.support.jars import REPOSITORY

_DIRECTORY = REPOSITORY / "tests" / "golden"
# Replaces the day of the run.
_TODAY = date(2030, 1, 1)
_DATE = re.compile(r"\b(20\d\d-\d\d-\d\d)( \d\d:\d\d UTC)?")


def check_golden(name: str, text: str, *, exact: bool = True) -> None:
    """Compare a text with the golden text of this name; unless `exact`, it only has to exist."""
    path = _DIRECTORY / f"{name}.txt"
    if os.environ.get("OTTLA_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert path.is_file(), f"{path} does not exist: create it with OTTLA_GOLDEN=write"
    if exact:
        assert text + "\n" == path.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Replacements:
    """Replacements for values that differ from run to run; distinct values stay distinct.

    Attributes:
        ports: the port to show for each port of the run.
        texts: likewise for parts of addresses and names (a subnet, a topic), and for the id of
            another cluster.
        today: the day of the run; all dates are shifted by the same amount.
        seconds: show the times of this run, for findings about slowness; by default, none.
    """

    ports: Mapping[int, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    today: date | None = None
    seconds: bool = False

    def __post_init__(self) -> None:
        for known in (self.ports, self.texts):
            assert len(set(known.values())) == len(known), f"two values are shown as one: {known}"

    @property
    def date_shift(self) -> timedelta:
        """The amount by which dates are shifted."""
        return timedelta() if self.today is None else _TODAY - self.today


def render_golden(report: Mapping[str, Any], replacements: Replacements) -> str:
    """Render a report (`Report.to_dict()`) with values that differ from run to run replaced.

    Beyond `replacements`, constants replace times, the cluster id, the number of APIs, the release,
    the gateway's version, the active controller, disk sizes and the resolver's messages. The report
    is judged and rendered again, since the length of a name decides where lines break; its findings
    must not change.
    """
    facts = facts_from(_replace(dict(report["facts"]), replacements))
    now = datetime.combine(_TODAY, time(), timezone.utc).timestamp()
    findings = judge(facts, now)
    slow = ("slow_",) if not replacements.seconds else ()
    before = [f for f in report["findings"] if not f["code"].startswith(slow)]
    keys = [(f["severity"], f["phase"], f["code"], tuple(f["brokers"])) for f in before]
    assert [(f.severity, f.phase, f.code, f.brokers) for f in findings] == keys
    # In every case, the flowchart ends in the phase of the exit code, or at the advertised address.
    end = ends_at(flowchart(facts_from(report["facts"])))
    ends = [EXIT_CODES[box_of(f)] for f in findings if f.severity == "error"]
    assert (0 if end is None else EXIT_CODES[end.phase]) == min(ends, default=0)
    assert report["exit_code"] == min(ends, default=0) or (end and end.phase == "Advertised")
    return render(facts, findings, Style())


def _replace(value: Any, replacements: Replacements, name: str = "") -> Any:
    if name == "apis":
        # The APIs of the mock and of brokers change with their versions.
        return dict.fromkeys(list(value)[:1], (0, 0))
    if name == "release" and value is not None:
        return "4.1"
    if name == "gateway" and value is not None:
        return "0.1.0"
    if name == "quorum" and value is not None:
        # The election decides which controller leads.
        leader = None if value["leader"] is None else min(v["id"] for v in value["voters"])
        value = {**value, "leader": leader}
    if name in {"total_bytes", "usable_bytes"} and value is not None:
        # Shows each disk as half full.
        return 200 if name == "total_bytes" else 100
    if name == "last_timestamp" and value is not None:
        # Three hours before the run.
        return round((datetime.combine(_TODAY, time(), timezone.utc).timestamp() - 3 * 3600) * 1000)
    if name == "lag_ms" and value is not None:
        rounded = 0 if value <= MAX_LAG_MS else 2 * MAX_LAG_MS
        return value if replacements.seconds else rounded
    if isinstance(value, dict):
        return {key: _replace(item, replacements, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace(item, replacements, name) for item in value]
    if name == "seconds":
        return value if replacements.seconds else 0.0
    if name == "port":
        return replacements.ports.get(value, value)
    if name == "not_after" and value is not None:
        return value + replacements.date_shift.total_seconds()
    if name == "cluster_id" or (name == "other_clusters" and isinstance(value, str)):
        return replacements.texts.get(value, "the-cluster") if value else value
    return _replace_text(value, replacements) if isinstance(value, str) else value


def _replace_text(value: str, replacements: Replacements) -> str:
    for found, shown in replacements.texts.items():
        value = value.replace(found, shown)
    value = re.sub(r"failed to lookup address.*", "the resolver's words", value)
    value = re.sub(r"within \d+ ms", "within T ms", value)
    return _DATE.sub(lambda found: _move_date(found, replacements), value)


def _move_date(found: re.Match[str], replacements: Replacements) -> str:
    day = str(date.fromisoformat(found[1]) + replacements.date_shift)
    return f"{day} 12:00 UTC" if found[2] else day
