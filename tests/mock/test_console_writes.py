"""Rates of writes, delays of groups, and events that become one: without a browser."""

from __future__ import annotations

from typing import Any

from ottla.console.group_samples import Sample, behind
from ottla.console.leader_moves import LeaderMoves
from ottla.console.repeated_losses import RepeatedLosses
from ottla.console.writes import Writes


def test_a_rate_compares_a_partition_with_itself() -> None:
    writes = Writes()
    leaders = {("a", 0): 1, ("a", 1): 2, ("b", 0): 1}
    writes.add_ends({("a", 0): 100, ("a", 1): 50, ("b", 0): 900}, leaders, now=0.0)
    assert writes.records is None
    assert writes.of_topic("a") == {"records": None, "bytes": None}
    # b was re-created, and the leader of a-0 moved.
    moved = leaders | {("a", 0): 2}
    writes.add_ends({("a", 0): 150, ("a", 1): 70, ("b", 0): 3}, moved, now=10.0)
    assert writes.of_topic("a")["records"] == 7.0
    assert writes.of_topic("b")["records"] == 0.0
    assert writes.of_broker(2)["records"] == 7.0
    assert [each["topic"] for each in writes.busiest(5)] == ["a"]
    assert list(writes.history) == [(10.0, 7.0)]


def test_bytes_of_a_topic_are_those_of_its_leaders() -> None:
    writes = Writes()
    writes.add_ends({("a", 0): 1}, {("a", 0): 1}, now=0.0)
    writes.add_sizes({(1, "a", 0): 1_000, (2, "a", 0): 900}, now=0.0)
    writes.add_sizes({(1, "a", 0): 4_000, (2, "a", 0): 3_900}, now=30.0)
    assert writes.of_topic("a")["bytes"] == 100.0
    assert (writes.of_broker(1)["bytes"], writes.of_broker(2)["bytes"]) == (100.0, 100.0)
    assert writes.of_broker(3)["bytes"] is None
    assert writes.leader_sizes() == {("a", 0): 4_000}


def test_the_time_behind_is_when_the_next_record_was_the_newest() -> None:
    samples = [Sample(float(second), 500, 100 * second) for second in range(11)]
    assert behind(samples) == (5.0, False)
    late = [Sample(float(second), 0, 1_000 + second) for second in range(11)]
    assert behind(late) == (10.0, True)
    assert behind([Sample(0.0, 5, 5)]) == (0.0, False)
    assert behind([Sample(0.0, 0, 5)]) is None


def _move(partition: int, before: int | None = 3, after: int | None = 1) -> dict[str, Any]:
    message = f"the leader of orders-{partition} changed from {before} to {after}"
    move = {"kind": "leader_changed", "message": message, "topic": "orders", "broker": None}
    return {**move, "time": 0.0, "partition": partition, "before": before, "after": after}


def test_leaders_that_move_together_are_one_event() -> None:
    moves = LeaderMoves()
    for partition in range(343):
        moves.add(_move(partition, after=None if partition < 12 else 1))
    moves.add(_move(1_000, before=2))
    found = moves.take(100.0)
    together, alone = found
    none = "12 of these partitions have none now"
    assert together["message"] == f"343 leaders moved from broker 3: {none}"
    assert len(together["moves"]) == 343
    assert alone["kind"] == "leader_changed"
    moves.numbered(together, 7)
    # Those that follow a moment later extend it; much later, they are news.
    moves.add(_move(400))
    [extended] = moves.take(101.0)
    assert extended["replaces"] == 7
    assert extended["count"] == 344
    moves.numbered(extended, 8)
    moves.add(_move(401))
    [later] = moves.take(200.0)
    assert later["kind"] == "leader_changed"


def test_attempts_that_fail_alike_are_one_event() -> None:
    """Regression: each attempt to reach a broker that is down was a line of the time line."""
    losses = RepeatedLosses()

    def add(kind: str, message: str, number: int, broker: int = 3) -> dict[str, Any]:
        event = {"kind": kind, "message": message, "broker": broker, "time": float(number)}
        added = losses.extended(event)
        losses.numbered(added, number)
        return added

    assert "replaces" not in add("connection_lost", "reset", 1)
    assert "replaces" not in add("connection_lost", "refused", 2)
    assert "replaces" not in add("connection_lost", "refused", 3, broker=2)
    for number in (4, 5):
        repeated = add("connection_lost", "refused", number)
    assert (repeated["count"], repeated["since"], repeated["time"]) == (3, 2.0, 5.0)
    assert repeated["replaces"] == 4
    # Once it was reached, another loss is another event.
    assert "replaces" not in add("connection_opened", "connected", 6)
    assert "replaces" not in add("connection_lost", "refused", 7)
    assert add("connection_lost", "refused", 8, broker=2)["count"] == 2
