"""The checker of histories finds each anomaly that is planted, and nothing in a history without."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from tests.history.checker import check
from tests.history.events import End, Event, History, Poll, Seek, Send, Transaction, from_json


def healthy() -> list[Event]:
    """Two producers, an abort, an unknown outcome, and a reader; partition 0 has markers."""
    return [
        Seek("r", {0: 0, 1: 0}),
        Transaction("a", (Send(0, "a0", 0), Send(1, "a1", 0)), "committed"),
        Poll("r", ((0, 0, "a0"), (1, 0, "a1"))),
        Transaction("b", (Send(0, "b0", 2),), "aborted"),
        Transaction("a", (Send(0, "a2", 4), Send(0, "a3", None)), "committed"),
        Poll("r", ((0, 4, "a2"), (0, 5, "a3"))),
        Transaction("b", (Send(1, "b1"), Send(0, "b2")), "unknown"),
        Poll("r", ((1, 2, "b1"), (0, 7, "b2"))),
        Transaction("b", (Send(1, "b3"),), "unknown"),
        End("r", {0: 9, 1: 4}),
    ]


def poll(*records: tuple[int, int, str]) -> Poll:
    return Poll("r", records)


def drop(index: int) -> Callable[[list[Event]], None]:
    return lambda events: events.__delitem__(index)


def put(index: int, event: Event) -> Callable[[list[Event]], None]:
    return lambda events: events.__setitem__(index, event)


def add(event: Event) -> Callable[[list[Event]], None]:
    return lambda events: events.insert(len(events) - 1, event)


def test_nothing_is_found_in_a_history_without_anomalies() -> None:
    assert check(healthy()) == []
    assert check([]) == []


@pytest.mark.parametrize(
    ("plant", "kinds"),
    [
        (put(5, poll((0, 4, "a2"))), ["lost write"]),
        (put(5, poll((0, 5, "a3"))), ["lost write", "skipped poll"]),
        (add(poll((0, 8, "a0"))), ["duplicate"]),
        (put(2, poll((0, 0, "a0"), (1, 0, "a1"), (0, 2, "b0"))), ["aborted read"]),
        (add(poll((1, 3, "never sent"))), ["unknown read"]),
        (put(7, poll((1, 2, "b1"))), ["torn transaction"]),
        (put(2, poll((1, 0, "a1"), (0, 0, "other"))), None),
        (add(poll((0, 5, "a3"))), ["non-monotonic poll"]),
        (put(5, poll((0, 5, "a2"), (0, 6, "a3"))), None),
        (put(5, poll((0, 4, "a3"), (0, 5, "a2"))), None),
        (put(7, poll((0, 7, "b1"), (1, 2, "b2"))), []),
    ],
)
def test_a_planted_anomaly_is_named(
    plant: Callable[[list[Event]], None], kinds: list[str] | None
) -> None:
    events = healthy()
    plant(events)
    found = sorted({anomaly.kind for anomaly in check(events)})
    if kinds is None:
        assert found
    else:
        assert found == kinds


def test_inconsistent_offsets_are_found_between_consumers_and_with_producers() -> None:
    events = healthy()
    other: list[Event] = [Seek("s", {1: 0}), Poll("s", ((1, 0, "b1"),))]
    found = {anomaly.kind for anomaly in check([*events, *other])}
    assert "inconsistent offsets" in found
    transaction = events[1]
    assert isinstance(transaction, Transaction)
    moved = (Send(0, "a0", 1), *transaction.sends[1:])
    events[1] = dataclasses.replace(transaction, sends=moved)
    events[5] = poll((0, 1, "other"), (0, 4, "a2"), (0, 5, "a3"))
    assert "inconsistent offsets" in {anomaly.kind for anomaly in check(events)}


def test_records_of_a_producer_that_changed_places_are_found() -> None:
    events = healthy()
    events[4] = Transaction("a", (Send(0, "a2"), Send(0, "a3")), "committed")
    events[5] = poll((0, 4, "a3"), (0, 5, "a2"))
    assert [anomaly.kind for anomaly in check(events)] == ["reordered"]


def test_a_poll_may_go_back_after_a_seek() -> None:
    events = healthy()
    events[-1:-1] = [Seek("r", {0: 4}), poll((0, 4, "a2"), (0, 5, "a3"), (0, 7, "b2"))]
    assert check(events) == []


def test_without_an_end_nothing_is_lost_yet() -> None:
    events = healthy()[:5]
    assert check(events) == []


def test_histories_are_json_lines() -> None:
    history = History(healthy())
    assert from_json(history.to_json()) == healthy()
