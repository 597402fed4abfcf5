"""The normaliser of golden texts hides random values and keeps the verdict."""

from __future__ import annotations

from datetime import date

import pytest

from ottla.doctor.facts import Address, Endpoint, Facts, Step, Tls
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from tests.support.golden import Same, picture


def server(host: str, port: int, *steps: Step, tls: Tls | None = None) -> Endpoint:
    return Endpoint(host, port, Step("DNS", 0.1), (Address(host, port, steps, tls),))


def diagnose(*servers: Endpoint) -> dict[str, object]:
    facts = Facts("PLAINTEXT", servers)
    return Report(facts, judge(facts)).to_dict()


def test_different_ports_stay_different() -> None:
    step = Step("TCP", 0.2, "diagnose", "connection diagnose by 10.9.8.1")
    diagnosis = diagnose(server("10.9.8.1", 41234, step), server("10.9.8.2", 41235, step))
    shown = picture(diagnosis, Same({41234: 9092, 41235: 9093}, {"10.9.8.": "10.0.0."}))
    # Each address is in the tree and in the verdict.
    assert shown.count("10.0.0.1:9092") == shown.count("10.0.0.2:9093") == 2
    assert shown.count("connection diagnose by 10.0.0.1") == 2
    assert "10.9.8" not in shown
    assert "4123" not in shown


def test_two_servers_are_not_merged() -> None:
    with pytest.raises(AssertionError, match="two are shown as one"):
        Same({1: 9092, 2: 9092})
    with pytest.raises(AssertionError, match="two are shown as one"):
        Same(texts={"10.0.1.5": "broker", "10.0.1.6": "broker"})


def test_a_changed_verdict_is_rejected() -> None:
    diagnosis = diagnose(server("10.9.8.1", 9092, Step("TCP", 0.2, "diagnose", "diagnose")))
    diagnosis["findings"] = []
    with pytest.raises(AssertionError):
        picture(diagnosis, Same())


def test_dates_shift_together() -> None:
    tls = Tls("TLSv1.3", subject="CN=broker", not_after=1_780_000_000.0)  # 2026-05-28
    ended = Step("TLS", 0.1, "certificate", "the certificate expired on 2026-05-28")
    diagnosis = diagnose(server("10.9.8.1", 9092, Step("TCP", 0.1), ended, tls=tls))
    shown = picture(diagnosis, Same(today=date(2026, 5, 29)))
    assert "expired on 2029-12-31" in shown
