"""Assignors of a program's own, and members of one group on one client."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.assignors import Assignor, MemberSubscription
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, SOON

CONFIG = {"group_id": "g", "heartbeat_interval_ms": 100}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class of the consumer."""
    return KINDS[request.param]


class EvenAndOdd:
    """Gives the even partitions to the member that says so, and the odd ones to the others."""

    name = "even-and-odd"

    def __init__(self, says: bytes | None) -> None:
        self.says = says
        self.told: list[tuple[list[tuple[str, int]], int]] = []
        self.asked: list[tuple[dict[str, dict[int, list[str]]], list[MemberSubscription]]] = []

    def user_data(self, topics: list[str]) -> bytes | None:
        """What the leader's assignor hears of this member."""
        assert topics == ["orders"]
        return self.says

    def on_assignment(self, partitions: list[tuple[str, int]], generation: int) -> None:
        """Note it."""
        self.told.append((partitions, generation))

    def assign(
        self,
        topics: Mapping[str, Mapping[int, Sequence[str]]],
        members: Sequence[MemberSubscription],
    ) -> dict[str, list[tuple[str, int]]]:
        """Divide."""
        known = {t: {p: [*racks] for p, racks in found.items()} for t, found in topics.items()}
        self.asked.append((known, [*members]))
        even = [("orders", p) for p in topics["orders"] if p % 2 == 0]
        odd = [("orders", p) for p in topics["orders"] if p % 2 == 1]
        return {m.member_id: even if m.user_data == b"even" else odd for m in members}


def settle(consumers: list[Any], wanted: list[list[int]]) -> None:
    """Poll until each has the partitions that it is to have."""
    deadline = time.monotonic() + SOON
    while (has := [[p for _, p in consumer.assignment()] for consumer in consumers]) != wanted:
        assert time.monotonic() < deadline, f"{has}, not {wanted}"
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
        # The second one takes part once it is polled.
        settle([first], [[0, 2]])
        settle([first, second], [[0, 2], [1]])
        group = mock_cluster.group("g")
        assert group is not None
        assert group.assignor == "even-and-odd"
        deadline = time.monotonic() + SOON
        while not odd.told:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert odd.told[-1][0] == [("orders", 1)]
        topics, members = even.asked[-1]
        assert topics == {"orders": {p: ["rack-a", "rack-b", "rack-c"] for p in range(3)}}
        told = [(m.topics, m.rack, m.user_data) for m in members]
        assert sorted(told, key=lambda row: row[1] or "") == [
            (["orders"], None, None),
            (["orders"], "rack-b", b"even"),
        ]
        assert {m.member_id for m in members} == {m.id for m in mock_cluster.members("g")}
        assert "MemberSubscription(member_id=" in repr(members[0])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ZeroDivisionError("no"), r"assign\(\) raised ZeroDivisionError: no"),
        ({"nobody": [("orders", 0)]}, "the group has no member nobody"),
        (None, "assign"),
        ({"": "orders"}, "assign"),
    ],
)
def test_invalid_assignment_raises_from_poll(
    kind: Any, mock_cluster: MockCluster, topic: str, answer: Any, words: str
) -> None:
    class Wrong:
        name = "wrong"

        def assign(self, topics: object, members: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    consumer = kind(
        mock_cluster.bootstrap,
        topics=[topic],
        partition_assignment_strategy=[Wrong()],
        **CONFIG,
    )
    with consumer, pytest.raises(errors.ConfigError, match=f"the assignor wrong: .*{words}"):
        poll_until_it_raises(consumer)


def poll_until_it_raises(consumer: Any) -> None:
    """Poll for a while."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        consumer.poll(timeout=0.1)


def test_invalid_assignors_are_rejected(kind: Any) -> None:
    for wrong, words in [
        ([object()], "of type object is no assignor"),
        (3, "of type int is no assignor"),
        ([EvenAndOdd(None), "rnage"], 'there is no assignor "rnage"'),
    ]:
        with pytest.raises(errors.ConfigError, match=words):
            kind("localhost:1", partition_assignment_strategy=wrong, **CONFIG)


def test_members_on_a_shared_client_do_not_block_each_other(
    mock_cluster: MockCluster, topic: str
) -> None:
    """A broker works off one request of a connection at a time: the heartbeat of the first member
    would come behind the second one's joining, which waits for the first one."""
    with ottla.Client(
        mock_cluster.bootstrap, group_id="g", heartbeat_interval_ms=100, session_timeout_ms=60_000
    ) as client:
        first = ottla.Consumer(client, topics=[topic])
        settle([first], [[0, 1, 2]])
        second = ottla.Consumer(client, topics=[topic])
        shares = {1, 2}
        deadline = time.monotonic() + SOON
        while {len(first.assignment()), len(second.assignment())} != shares:
            assert time.monotonic() < deadline, "they do not come together"
            first.poll(timeout=0.05)
            second.poll(timeout=0.05)
        second.close()
        settle([first], [[0, 1, 2]])
        first.close()
        # The client lives on.
        assert client.leader(topic, 0) is not None
