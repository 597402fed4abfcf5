"""aiokafka's layer: groups go on in the background; listeners are called in aiokafka's order."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import ottla
from ottla.compat.aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from ottla.testing import MockCluster
from tests.support.loops import run

P0, P1 = TopicPartition("pairs", 0), TopicPartition("pairs", 1)
BOTH = {P0, P1}


class Listener(ConsumerRebalanceListener):
    """Notes its calls, and that they do not overlap."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, set[TopicPartition]]] = []
        self.changed = asyncio.Event()

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.calls.append(("revoke", revoked))
        await asyncio.sleep(0)
        self.calls.append(("revoked", revoked))

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.calls.append(("assign", assigned))
        await asyncio.sleep(0)
        self.calls.append(("assigned", assigned))
        self.changed.set()

    async def wait(self) -> set[TopicPartition]:
        """Wait for the next assignment."""
        await self.changed.wait()
        self.changed.clear()
        return self.calls[-1][1]


def consumer(cluster: MockCluster, *topics: str, **options: Any) -> AIOKafkaConsumer:
    defaults: dict[str, Any] = {
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "group_id": "members",
        "heartbeat_interval_ms": 50,
    }
    return AIOKafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap, **(defaults | options))


def test_a_rebalance_does_not_wait_for_an_application_that_does_not_read(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def join() -> None:
        first, listener = consumer(mock_cluster), Listener()
        first.subscribe([pairs], listener=listener)
        await first.start()
        # `start` has called the listener, but does not wait for it.
        assert await listener.wait() == BOTH
        assert listener.calls == [
            ("revoke", set()),
            ("revoked", set()),
            ("assign", BOTH),
            ("assigned", BOTH),
        ]
        await first.getone()
        listener.calls.clear()
        # Nothing reads from the first consumer while the second one joins.
        async with consumer(mock_cluster, pairs) as second:
            kept = await listener.wait()
            assert kept | second.assignment() == BOTH
            assert len(kept) == len(second.assignment()) == 1
            assert [call for call, _ in listener.calls] == [
                "revoke",
                "revoked",
                "assign",
                "assigned",
            ]
            assert listener.calls[0][1] == BOTH
            assert first.assignment() == kept
            await first.stop()
            assert listener.calls[-1][0] == "assigned"

    run(join())


def test_the_exception_of_a_listener_does_not_stop_the_rebalance(
    mock_cluster: MockCluster, pairs: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Listener):
        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            raise ValueError("broken listener")

    async def join() -> None:
        reader = consumer(mock_cluster)
        reader.subscribe([pairs], listener=Broken())
        async with reader:
            assert (await reader.getone()).offset == 0

    run(join())
    assert "broken listener" in caplog.text


def test_a_listener_may_seek_and_commit(mock_cluster: MockCluster, pairs: str) -> None:
    class Seeker(Listener):
        def __init__(self, reader: AIOKafkaConsumer) -> None:
            super().__init__()
            self.reader = reader

        async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            assert await self.reader.committed(P0) is None
            await self.reader.seek_to_end(P0)
            self.reader.seek(P1, 8)
            await self.reader.commit({P0: 3})

    async def join() -> None:
        reader = consumer(mock_cluster)
        reader.subscribe([pairs], listener=Seeker(reader))
        async with reader:
            assert [(await reader.getone()).value for _ in range(2)] == [b"1-8", b"1-9"]
            assert await reader.position(P0) == 10
            assert await reader.committed(P0) == 3

    run(join())


def test_subscribing_to_the_same_topics_again_joins_again(
    mock_cluster: MockCluster, pairs: str
) -> None:
    """Regression: the core saw no change, so the new listener was never called."""

    async def join() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            listener = Listener()
            reader.subscribe([pairs], listener=listener)
            assert reader.assignment() == set()
            assert await listener.wait() == BOTH
            assert (await reader.getone()).offset == 0

    run(join())


def test_a_new_assignment_waits_until_the_group_is_left(
    mock_cluster: MockCluster, pairs: str
) -> None:
    """Regression: the revocation that was still due took the new partitions away."""

    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            reader.unsubscribe()
            reader.assign([P1])
            reader.seek(P1, 7)
            assert await reader.position(P1) == 7
            assert [(await reader.getone()).offset for _ in range(3)] == [7, 8, 9]
            assert reader.assignment() == {P1}

    run(read())


@pytest.mark.parametrize("max_poll_interval_ms", [100, 400])
def test_a_member_that_does_not_read_leaves_and_returns_no_stale_records(
    mock_cluster: MockCluster, pairs: str, max_poll_interval_ms: int
) -> None:
    """Regression: records that were buffered before the member left were still returned.

    With 100 ms, it left again and again: the background poll paused for longer than it may.
    """

    async def read() -> None:
        options = {"max_poll_interval_ms": max_poll_interval_ms, "enable_auto_commit": False}
        idle = consumer(mock_cluster, pairs, **options)
        async with idle, consumer(mock_cluster, pairs, enable_auto_commit=False) as other:
            deadline = time.monotonic() + 30
            while other.assignment() != BOTH:
                assert time.monotonic() < deadline
                await other.getmany(timeout_ms=50)
            await other.commit({P0: 10, P1: 10})
            await other.stop()
            mock_cluster.append("pairs", 0, [b"new"])
            assert (await idle.getone()).value == b"new"

    run(read())


def test_a_member_leaves_after_a_read_that_was_given_up(
    mock_cluster: MockCluster, pairs: str
) -> None:
    """Regression: the poll for that read went on for ten minutes."""

    async def read() -> None:
        idle = consumer(mock_cluster, pairs, max_poll_interval_ms=200, auto_offset_reset="latest")
        async with idle, consumer(mock_cluster, pairs) as other:
            assert await idle.getmany(timeout_ms=50) == {}
            deadline = time.monotonic() + 30
            while other.assignment() != BOTH:
                assert time.monotonic() < deadline
                await other.getmany(timeout_ms=50)

    run(read())


def test_topics_that_match_a_pattern_later_are_read(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster, metadata_max_age_ms=50)
        reader.subscribe(pattern="pai|lat")
        async with reader:
            assert reader.subscription() == {"pairs"}
            mock_cluster.create_topic("later")
            mock_cluster.append("later", 0, [b"late"])
            while (await reader.getone()).value != b"late":
                pass
            assert reader.subscription() == {"pairs", "later"}

    run(read())


@pytest.mark.parametrize("pattern", [None, "pai|lat"])
def test_without_a_group_all_partitions_are_read(
    mock_cluster: MockCluster, pairs: str, pattern: str | None
) -> None:
    async def read() -> None:
        topics = [pairs] if pattern is None else []
        reader = consumer(mock_cluster, *topics, group_id=None, metadata_max_age_ms=50)
        if pattern is not None:
            reader.subscribe(pattern=pattern)
        async with reader:
            assert reader.assignment() == BOTH
            seen = {(await reader.getone()).value for _ in range(20)}
            assert len(seen) == 20
            if pattern is not None:
                mock_cluster.create_topic("later")
                mock_cluster.append("later", 0, [b"late"])
                assert (await reader.getone()).value == b"late"
                assert len(reader.assignment()) == 3

    run(read())


def test_without_a_group_new_partitions_are_read_and_the_others_go_on(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs, group_id=None, metadata_max_age_ms=50) as reader:
            assert (await reader.getone(P0)).value == b"0-0"
            with ottla.Admin(mock_cluster.bootstrap) as admin:
                admin.create_partitions({"pairs": 3})
            mock_cluster.append("pairs", 2, [b"new"])
            seen = [(await reader.getone()).value for _ in range(20)]
            assert len(set(seen)) == 20
            assert b"new" in seen
            assert b"0-0" not in seen
            reader.subscribe([pairs])
            # A new subscription begins anew.
            assert len({(await reader.getone()).value for _ in range(21)}) == 21

    run(read())


@pytest.mark.parametrize("group_id", ["members", None])
def test_another_pattern_may_match_the_same_topics(
    mock_cluster: MockCluster, pairs: str, group_id: str | None
) -> None:
    """Regression: the topics were unchanged, so nothing was subscribed to, and reading waited."""

    async def read() -> None:
        reader = consumer(mock_cluster, group_id=group_id)
        reader.subscribe(pattern="pai")
        async with reader:
            assert (await reader.getone()).offset == 0
            reader.subscribe(pattern="pairs")
            assert (await reader.getone()).offset == 0

    run(read())


@pytest.mark.parametrize("is_manual", [False, True])
def test_start_lets_the_brokers_create_topics(mock_cluster: MockCluster, is_manual: bool) -> None:
    async def read() -> None:
        topics = [] if is_manual else ["fresh"]
        reader = consumer(mock_cluster, *topics, request_timeout_ms=5000)
        if is_manual:
            reader.assign([TopicPartition("fresh", 0)])
        async with reader:
            assert 0 in (reader.partitions_for_topic("fresh") or ())
            mock_cluster.append("fresh", 0, [b"first"])
            assert (await reader.getone()).value == b"first"

    run(read())
