"""The lines of `ottla produce` about records that were not written."""

from __future__ import annotations

import pytest

from ottla import errors
from ottla.cli.messages import shortened
from ottla.cli.produce.failures import LENGTH, Failures
from ottla.errors import BrokerError, KafkaError


def failed(message: str, name: str | None = None, *, maybe_done: bool = False) -> KafkaError:
    error = BrokerError(message) if name else errors.TimeoutError(message)
    error.name, error.maybe_done = name, maybe_done
    return error


def test_a_cause_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    failures = Failures("orders")
    for number in range(3, 1_003):
        failures.add(number, failed(f"no [orders-{number % 3}, broker 1]", "NOT_ENOUGH_REPLICAS"))
    assert capsys.readouterr().err == "ottla: not written: no [orders-0, broker 1]\n"
    assert failures.summary(2) == ("2 records written, 1000 failed: records 3-1002 of the input")


def test_two_causes_and_records_that_may_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    failures = Failures("orders")
    for number in (1, 2, 5):
        failures.add(number, failed(f"late by {number} ms [t-{number}]", maybe_done=True))
    failures.add(7, failed("no", "POLICY_VIOLATION"))
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert failures.summary(3) == (
        "3 records written, 4 failed: records 1-2, 5, 7 of the input "
        "(3 TimeoutError: late by N ms, 1 POLICY_VIOLATION); "
        "3 of them may have been written nevertheless"
    )


def test_any_number_of_causes_and_gaps_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    failures = Failures("orders")
    for number in range(1, 1_000, 2):
        failures.add(number, failed("x" * 10_000, f"CODE_{number}"))
    failures.add_refused(1_001)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) < 450
    summary = failures.summary(0)
    assert summary.startswith("0 records written, 501 failed: records 1, 3, 5, 7, 9 and 496 more")
    assert "495 other causes" in summary
    assert len(summary) < 450


def test_both_ends_of_a_long_text_stay() -> None:
    text = "the cause " + "x" * 1_000 + " the remedy"
    short = shortened(text, LENGTH)
    assert len(short) <= 400
    assert short.startswith("the cause x")
    assert short.endswith("x the remedy")
    assert shortened("short", LENGTH) == "short"
