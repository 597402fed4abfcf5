"""The golden texts' normaliser: it hides what is random, and nothing that a verdict says."""

from __future__ import annotations

from datetime import date

import pytest

from ottla.doctor.connection_facts import Address, Endpoint, Step, Tls
from ottla.doctor.facts import Facts
from ottla.doctor.report import Report
from ottla.doctor.verdict import judge
from tests.support.golden import Replacements, render_golden


def server(host: str, port: int, *steps: Step, tls: Tls | None = None) -> Endpoint:
    return Endpoint(host, port, Step("DNS", 0.1), (Address(host, port, steps, tls),))


def refused(*servers: Endpoint) -> dict[str, object]:
    facts = Facts("PLAINTEXT", servers)
    return Report(facts, judge(facts)).to_dict()


def test_what_was_different_stays_different() -> None:
    step = Step("TCP", 0.2, "refused", "connection refused by 10.9.8.1")
    report = refused(server("10.9.8.1", 41234, step), server("10.9.8.2", 41235, step))
    shown = render_golden(report, Replacements({41234: 9092, 41235: 9093}, {"10.9.8.": "10.0.0."}))
    # Each in the tree and in the verdict.
    assert shown.count("10.0.0.1:9092") == shown.count("10.0.0.2:9093") == 2
    assert shown.count("connection refused by 10.0.0.1") == 2
    assert "10.9.8" not in shown
    assert "4123" not in shown


def test_two_are_not_shown_as_one() -> None:
    with pytest.raises(AssertionError, match="two values are shown as one"):
        Replacements({1: 9092, 2: 9092})
    with pytest.raises(AssertionError, match="two values are shown as one"):
        Replacements(texts={"10.0.1.5": "broker", "10.0.1.6": "broker"})


def test_a_change_of_the_verdict_is_refused() -> None:
    report = refused(server("10.9.8.1", 9092, Step("TCP", 0.2, "refused", "refused")))
    report["findings"] = []
    with pytest.raises(AssertionError):
        render_golden(report, Replacements())


def test_dates_move_together() -> None:
    tls = Tls("TLSv1.3", subject="CN=broker", not_after=1_780_000_000.0)  # 2026-05-28
    ended = Step("TLS", 0.1, "certificate", "the certificate expired on 2026-05-28")
    report = refused(server("10.9.8.1", 9092, Step("TCP", 0.1), ended, tls=tls))
    shown = render_golden(report, Replacements(today=date(2026, 5, 29)))
    assert "expired on 2029-12-31" in shown
