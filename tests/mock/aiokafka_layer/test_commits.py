"""aiokafka's layer: commits cover what was processed, and no more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ottla
from ottla.compat.aiokafka import (
    AIOKafkaConsumer,
    ConsumerRebalanceListener,
    IllegalOperation,
    OffsetAndMetadata,
    TopicPartition,
)
from ottla.compat.aiokafka.errors import IllegalStateError
from ottla.testing import MockCluster
from tests.support.loops import eventually, run

P0, P1 = TopicPartition("pairs", 0), TopicPartition("pairs", 1)


def consumer(cluster: MockCluster, *topics: str, **options: Any) -> AIOKafkaConsumer:
    defaults: dict[str, Any] = {
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
        "group_id": "committers",
    }
    return AIOKafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap, **(defaults | options))


def committed(cluster: MockCluster) -> dict[tuple[str, int], tuple[int, str | None]]:
    """What the group has committed."""
    with ottla.Admin(cluster.bootstrap) as admin:
        offsets = admin.list_group_offsets(["committers"])["committers"]
    return {partition: (item.offset, item.metadata) for partition, item in offsets.items()}


def test_the_forms_of_a_commit(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs, enable_auto_commit=False) as reader:
            await reader.commit({P0: 3, P1: (4, "four")})
            assert committed(mock_cluster) == {P0: (3, ""), P1: (4, "four")}
            await reader.commit({P1: OffsetAndMetadata(5, "five")})
            assert await reader.committed(P1) == 5
            assert (await reader.getone(P0)).offset == 0
            await reader.commit()
            # Records of the other partition are held, so its position is their first offset.
            assert committed(mock_cluster) == {P0: (1, ""), P1: (0, "")}
            assert await reader.seek_to_committed() == {P0: 1, P1: 0}

    run(read())


def test_a_wrong_commit_is_refused(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs) as reader:
            values: list[Any] = [{}, "something", {P0: (1, "a", 2)}]
            for offsets in values:
                with pytest.raises(ValueError):  # noqa: PT011 - it has the offsets only
                    await reader.commit(offsets)
            types: list[Any] = [{"pairs": 1}, {P0: (1, 1000)}]
            for offsets in types:
                with pytest.raises(TypeError):
                    await reader.commit(offsets)
            with pytest.raises(IllegalStateError, match="is not assigned"):
                await reader.commit({TopicPartition("pairs", 7): 1})
            reader.unsubscribe()
            with pytest.raises(IllegalStateError, match="Not subscribed"):
                await reader.commit()
        async with consumer(mock_cluster, pairs, group_id=None) as reader:
            with pytest.raises(IllegalOperation):
                await reader.commit()
            with pytest.raises(IllegalOperation):
                await reader.committed(P0)

    run(read())


def test_a_periodic_commit_leaves_out_what_is_being_processed(
    mock_cluster: MockCluster, pairs: str
) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster, auto_commit_interval_ms=20)
        reader.assign([P0])
        async with reader:
            for _ in range(4):
                await reader.getone()
            # The fourth record may still be in process.
            await eventually(lambda: committed(mock_cluster) == {P0: (3, "")})
            assert reader._membership is not None
            automatic = reader._membership._auto_commit
            assert automatic is not None
            await automatic.commit(includes_in_process=False)
            assert committed(mock_cluster) == {P0: (3, "")}
            await reader.getone()
            await eventually(lambda: committed(mock_cluster) == {P0: (4, "")})

    run(read())


def test_a_task_does_not_commit_what_another_one_is_processing(
    mock_cluster: MockCluster, pairs: str
) -> None:
    """Regression: reading one partition counted as the end of processing the others."""

    async def read() -> None:
        reader = consumer(mock_cluster, auto_commit_interval_ms=600_000)
        reader.assign([P0, P1])
        async with reader:
            assert reader._membership is not None
            automatic = reader._membership._auto_commit
            assert automatic is not None
            await reader.getone(P0)
            assert len((await reader.getmany(P1, max_records=3, timeout_ms=5000))[P1]) == 3
            await reader.getone(P1)
            await automatic.commit(includes_in_process=False)
            assert committed(mock_cluster) == {P0: (0, ""), P1: (3, "")}
            await reader.getone()
            await automatic.commit(includes_in_process=False)
            assert sum(offset for offset, _ in committed(mock_cluster).values()) == 5

    run(read())


def test_a_commit_during_a_rebalance_leaves_out_dropped_records(
    mock_cluster: MockCluster, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it covered records that were polled, dropped by the rebalance and never read."""

    async def read() -> None:
        async with consumer(mock_cluster, pairs, auto_commit_interval_ms=600_000) as reader:
            membership = reader._membership
            assert membership is not None
            assert membership._auto_commit is not None
            await reader.getone(P0)
            position, is_dropped = reader._engine.position, asyncio.Event()

            async def late(*partition: Any, timeout: float) -> int:
                offset = await position(*partition, timeout=timeout)
                await is_dropped.wait()
                return offset

            monkeypatch.setattr(reader._engine, "position", late)
            commit = asyncio.ensure_future(membership._auto_commit.commit(includes_in_process=True))
            await asyncio.sleep(0)
            await membership._rebalances.on_lost(None, [P0, P1])
            is_dropped.set()
            await commit
            assert committed(mock_cluster) == {}

    run(read())


def test_no_periodic_commit_follows_that_of_a_rebalance(
    mock_cluster: MockCluster, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it covered less, so that the next owner read records again."""
    may_go_on, commits = asyncio.Event(), list[asyncio.Future[None]]()

    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            may_go_on.set()
            await asyncio.gather(*commits[:1])

        def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
            may_go_on.clear()

    async def read() -> None:
        reader = consumer(mock_cluster, auto_commit_interval_ms=600_000)
        reader.subscribe([pairs], listener=Listener())
        async with reader:
            membership = reader._membership
            assert membership is not None
            assert membership._auto_commit is not None
            await reader.getone(P0)
            position = reader._engine.position

            async def late(*partition: Any, timeout: float) -> int:
                await may_go_on.wait()
                return await position(*partition, timeout=timeout)

            monkeypatch.setattr(reader._engine, "position", late)
            periodic = membership._auto_commit.commit(includes_in_process=False)
            commits.append(asyncio.ensure_future(periodic))
            await asyncio.sleep(0)
            monkeypatch.undo()
            revocation = membership._rebalances.on_revoked(None, [P0, P1])
            commits.append(asyncio.ensure_future(revocation))
            # It waits for the periodic commit, or else is over by then.
            await asyncio.wait(commits[1:], timeout=0.2)
            may_go_on.set()
            await asyncio.gather(*commits)
            assert committed(mock_cluster)[P0] == (1, "")

    run(read())


@pytest.mark.parametrize("fails", [False, True])
def test_stop_commits_the_last_record_unless_an_exception_causes_it(
    mock_cluster: MockCluster, pairs: str, fails: bool
) -> None:
    async def read() -> None:
        reader = consumer(mock_cluster)
        reader.assign([P0])
        await reader.start()
        try:
            assert (await reader.getone()).offset == 0
            assert (await reader.getone()).offset == 1
            if fails:
                raise ValueError("cannot process")
        finally:
            await reader.stop()

    if fails:
        with pytest.raises(ValueError, match="cannot process"):
            run(read())
    else:
        run(read())
    assert committed(mock_cluster) == {P0: (1 if fails else 2, "")}


def test_a_rebalance_commits_first(mock_cluster: MockCluster, pairs: str) -> None:
    """What one member has read, the next one does not read again."""

    async def read() -> None:
        options = {"heartbeat_interval_ms": 50, "auto_commit_interval_ms": 600_000}
        async with consumer(mock_cluster, pairs, **options) as first:
            seen = [(await first.getone()).value for _ in range(20)]
            async with consumer(mock_cluster, pairs, **options) as second:
                mock_cluster.append("pairs", 0, [b"new"])
                mock_cluster.append("pairs", 1, [b"new"])
                both = await asyncio.gather(first.getone(), second.getone())
                assert [record.value for record in both] == [b"new", b"new"]
            assert len(set(seen)) == 20

    run(read())


def test_seeking_forgets_what_was_read_ahead(mock_cluster: MockCluster, pairs: str) -> None:
    async def read() -> None:
        async with consumer(mock_cluster, pairs, enable_auto_commit=False) as reader:
            assert (await reader.getone(P0)).offset == 0
            reader.seek(P0, 8)
            assert [(await reader.getone(P0)).offset for _ in range(2)] == [8, 9]
            await reader.seek_to_beginning(P0)
            assert (await reader.getone(P0)).offset == 0
            await reader.seek_to_end()
            assert (await reader.position(P0), await reader.position(P1)) == (10, 10)
            assert await reader.beginning_offsets([P0]) == {P0: 0}
            assert await reader.end_offsets([P0, P1]) == {P0: 10, P1: 10}
            assert await reader.offsets_for_times({P0: 2**45}) == {P0: None}
            for offset in (-1, "1"):
                with pytest.raises(ValueError, match="positive"):
                    reader.seek(P0, offset)  # type: ignore[arg-type]

    run(read())
