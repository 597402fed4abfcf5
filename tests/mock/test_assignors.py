"""Custom partition assignors, and several members of a group on one client."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.assignors import Assignor, MemberSubscription
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT

CONFIG = {"group_id": "g", "heartbeat_interval_ms": 100}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


class EvenAndOdd:
    """Assign even partitions to the member with user data `even`, odd ones to the others."""

    name = "even-and-odd"

    def __init__(self, marker: bytes | None) -> None:
        self.marker = marker
        self.assignments: list[tuple[list[tuple[str, int]], int]] = []
        self.assign_calls: list[
            tuple[dict[str, dict[int, list[str]]], list[MemberSubscription]]
        ] = []

    def user_data(self, topics: list[str]) -> bytes | None:
        """Return this member's user data for the leader's assignor."""
        assert topics == ["orders"]
        return self.marker

    def on_assignment(self, partitions: list[tuple[str, int]], generation: int) -> None:
        """Record the assignment."""
        self.assignments.append((partitions, generation))

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
    ) -> dict[str, list[tuple[str, int]]]:
        """Assign the partitions by user data."""
        known = {t: {p: [*racks] for p, racks in found.items()} for t, found in topics.items()}
        self.assign_calls.append((known, [*members]))
        even = [("orders", p) for p in topics["orders"] if p % 2 == 0]
        odd = [("orders", p) for p in topics["orders"] if p % 2 == 1]
        return {m.member_id: even if m.user_data == b"even" else odd for m in members}


def poll_until_assigned(consumers: list[Any], wanted: list[list[int]]) -> None:
    """Poll until each consumer has the wanted partitions."""
    deadline = time.monotonic() + TIMEOUT
    while (has := [[p for _, p in consumer.assignment()] for consumer in consumers]) != wanted:
        assert time.monotonic() < deadline, f"assigned {has}, wanted {wanted}"
        for consumer in consumers:
            consumer.poll(timeout=0.05)


def test_custom_assignor_assigns_partitions(
    kind: Any, mock_cluster: MockCluster, topic: str
) -> None:
    even, odd = EvenAndOdd(b"even"), EvenAndOdd(None)
    checked: Assignor = even
    assert checked.name == "even-and-odd"
    first = kind(
        mock_cluster.bootstrap,
        topics=[topic],
        partition_assignment_strategy=[even, "range"],
        client_rack="rack-b",
        **CONFIG,
    )
    second = kind(
        mock_cluster.bootstrap, topics=[topic], partition_assignment_strategy=[odd], **CONFIG
    )
    with first, second:
        # The second member joins with its first poll.
        poll_until_assigned([first], [[0, 2]])
        poll_until_assigned([first, second], [[0, 2], [1]])
        group = mock_cluster.group("g")
        assert group is not None
        assert group.assignor == "even-and-odd"
        deadline = time.monotonic() + TIMEOUT
        while not odd.assignments:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert odd.assignments[-1][0] == [("orders", 1)]
        topics, members = even.assign_calls[-1]
        assert topics == {"orders": {p: ["rack-a", "rack-b", "rack-c"] for p in range(3)}}
        subscriptions = [(m.topics, m.rack, m.user_data) for m in members]
        assert sorted(subscriptions, key=lambda row: row[1] or "") == [
            (["orders"], None, None),
            (["orders"], "rack-b", b"even"),
        ]
        assert {m.member_id for m in members} == {m.id for m in mock_cluster.members("g")}
        assert "MemberSubscription(member_id=" in repr(members[0])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (ZeroDivisionError("no"), r"assign\(\) raised ZeroDivisionError: no"),
        ({"nobody": [("orders", 0)]}, "the group has no member nobody"),
        (None, "assign"),
        ({"": "orders"}, "assign"),
    ],
)
def test_invalid_assignment_raises_from_poll(
    kind: Any, mock_cluster: MockCluster, topic: str, returned: Any, message: str
) -> None:
    class Wrong:
        name = "wrong"

        def assign(self, topics: object, members: object) -> Any:
            if isinstance(returned, Exception):
                raise returned
            return returned

    consumer = kind(
        mock_cluster.bootstrap,
        topics=[topic],
        partition_assignment_strategy=[Wrong()],
        **CONFIG,
    )
    with consumer, pytest.raises(errors.ConfigError, match=f"the assignor wrong: .*{message}"):
        poll_until_it_raises(consumer)


def poll_until_it_raises(consumer: Any) -> None:
    """Poll until the deadline, or until a poll raises."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        consumer.poll(timeout=0.1)


def test_invalid_assignors_are_rejected(kind: Any) -> None:
    for wrong, message in [
        ([object()], "of type object is not an assignor"),
        (3, "of type int is not an assignor"),
        ([EvenAndOdd(None), "rnage"], 'there is no assignor "rnage"'),
    ]:
        with pytest.raises(errors.ConfigError, match=message):
            kind("localhost:1", partition_assignment_strategy=wrong, **CONFIG)


def test_members_on_a_shared_client_do_not_block_each_other(
    mock_cluster: MockCluster, topic: str
) -> None:
    """A broker handles one request per connection at a time: on a shared connection the first
    member's heartbeat would queue behind the second one's JoinGroup, which waits for the first."""
    with ottla.Client(
        mock_cluster.bootstrap, group_id="g", heartbeat_interval_ms=100, session_timeout_ms=60_000
    ) as client:
        first = ottla.Consumer(client, topics=[topic])
        poll_until_assigned([first], [[0, 1, 2]])
        second = ottla.Consumer(client, topics=[topic])
        shares = {1, 2}
        deadline = time.monotonic() + TIMEOUT
        while {len(first.assignment()), len(second.assignment())} != shares:
            assert time.monotonic() < deadline, "the members did not share the partitions"
            first.poll(timeout=0.05)
            second.poll(timeout=0.05)
        second.close()
        poll_until_assigned([first], [[0, 1, 2]])
        first.close()
        # The client stays usable.
        assert client.leader(topic, 0) is not None
