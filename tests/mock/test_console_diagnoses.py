"""The console's diagnoses over HTTP: their steps, and how many run at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import ottla
from ottla.console import Console
from ottla.doctor import DiagnosisStep
from ottla.testing import Fault, MockCluster
from tests.support.console import Stream, request


def test_the_diagnosis_is_reported_step_by_step(console: Console, topic: str) -> None:
    with Stream(console, f"/api/doctor?topic={topic}&group=billing") as stream:
        seen = list(stream)
    steps = [value for kind, value in seen if kind == "step"]
    assert {each["phase"] for each in steps} >= {"DNS", "TCP", "ApiVersions", "Metadata", "Leaders"}
    kind, report = seen[-1]
    assert kind == "report"
    assert report["ok"]
    assert report["ends_at"] is None
    saved = request(console, "/api/doctor/report.html")
    assert saved.headers["content-disposition"] == 'attachment; filename="ottla-doctor.html"'
    assert b"<script" not in saved.body


def test_the_doctor_runs_while_other_requests_wait(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
    mock_cluster.inject(Fault.silence(), api="ListGroups")
    waiting = [
        threading.Thread(target=request, args=(console, f"/api/messages?topic=missing-{n}"))
        for n in range(6)
    ]
    for each in waiting:
        each.start()
    with Stream(console, "/api/doctor") as stream:
        assert stream.wait_for("report")
    for each in waiting:
        each.join()


def test_diagnoses_of_pages_that_are_gone_count_until_they_end(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a page that went away made room for another one while its checks still ran."""
    ended = threading.Event()

    def diagnose(_: object, *, on_step: Callable[[DiagnosisStep], object], **__: object) -> None:
        step = DiagnosisStep("DNS", "a server", "DNS", "started")
        on_step(step)
        assert ended.wait(120)
        # It notices that its page is gone.
        on_step(step)

    monkeypatch.setattr(ottla, "diagnose", diagnose)
    for _ in range(2):
        stream = Stream(console, "/api/doctor")
        assert next(stream)[0] == "step"
        stream.close()
    assert request(console, "/api/doctor").status == 409
    monkeypatch.undo()
    ended.set()
    deadline = time.monotonic() + 60
    while request(console, "/api/doctor").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)
