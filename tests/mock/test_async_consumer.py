"""The asyncio side of ``AsyncConsumer``: cancelling a poll loses no record, callbacks may be
coroutines, and many consumers share the threads."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import AsyncConsumer, errors
from ottla.testing import MockCluster
from tests.support.child import assert_interruptible
from tests.support.loops import run

ALL = [("orders", 0), ("orders", 1), ("orders", 2)]


def fill(cluster: MockCluster, count: int) -> None:
    with ottla.Producer(cluster.bootstrap) as producer:
        for partition in range(3):
            for offset in range(count):
                producer.send("orders", str(offset), partition=partition)


def by_partition(seen: list[tuple[int, int]]) -> dict[int, list[int]]:
    return {p: [offset for at, offset in seen if at == p] for p in range(3)}


def test_methods_match_the_sync_consumer() -> None:
    def public(cls: type) -> set[str]:
        return {name for name in dir(cls) if not name.startswith("_")}

    assert public(AsyncConsumer) == public(ottla.Consumer) | {"connect"}


@pytest.mark.parametrize("seed", range(5, 11))
def test_cancelled_polls_lose_nothing(mock_cluster: MockCluster, topic: str, seed: int) -> None:
    """Regression: a cancelled poll took records while the next call started, once in 60 runs.

    The next call then returned later records, and the position moved past the lost ones.
    """
    fill(mock_cluster, 2000)
    chance = random.Random(seed)

    async def work() -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []

        async def records() -> None:
            found = await consumer.poll(timeout=5, max_records=40)
            seen.extend((record.partition, record.offset) for record in found)

        async def columns() -> None:
            batch = await consumer.poll_arrow(timeout=5, max_rows=60)
            if batch is not None:
                found = pa.record_batch(batch)
                pairs = (found["partition"].to_pylist(), found["offset"].to_pylist())
                seen.extend(zip(*pairs, strict=True))

        async def one_by_one() -> None:
            async for record in consumer:
                seen.append((record.partition, record.offset))
                # After the last record, iterating would wait for more.
                if len(seen) == 6000 or chance.random() < 0.02:
                    return

        # Switching from records to columns waits for the fetch in flight.
        config: dict[str, Any] = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 10}
        async with AsyncConsumer(mock_cluster.bootstrap, **config) as consumer:
            consumer.assign(ALL)
            while len(seen) < 6000:
                task = asyncio.ensure_future(chance.choice([records, columns, one_by_one])())
                if chance.random() < 0.5:
                    await asyncio.sleep(chance.choice([0, 0, 0.0002, 0.001]))
                    for _ in range(chance.randrange(4)):
                        await asyncio.sleep(0)
                    task.cancel()
                await asyncio.wait([task], timeout=120)
                assert task.done()
                if not task.cancelled():
                    task.result()
            assert len(seen) == 6000
        return seen

    assert by_partition(run(work())) == {p: list(range(2000)) for p in range(3)}


def test_coroutine_callbacks_survive_a_cancelled_poll(
    mock_cluster: MockCluster, topic: str
) -> None:
    fill(mock_cluster, 1)
    calls: list[Any] = []

    async def work() -> None:
        resume = asyncio.Event()

        async def assigned(consumer: AsyncConsumer, partitions: list[tuple[str, int]]) -> None:
            calls.append(("begins", partitions))
            for call in (consumer.poll, consumer.poll_arrow, consumer.close):
                with pytest.raises(errors.StateError):
                    await call()
            await resume.wait()
            await consumer.commit({("orders", 0): 1})
            calls.append("ends")

        async def revoked(consumer: AsyncConsumer, partitions: list[tuple[str, int]]) -> None:
            await asyncio.sleep(0.01)
            calls.append(("revoked", partitions, consumer.assignment()))

        async with AsyncConsumer(
            mock_cluster.bootstrap, group_id="g", auto_offset_reset="earliest"
        ) as consumer:
            consumer.subscribe([topic], on_assigned=assigned, on_revoked=revoked)
            while not calls:
                task = asyncio.ensure_future(consumer.poll(timeout=5))
                await asyncio.sleep(0.2)
                task.cancel()
                await asyncio.wait([task])
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.poll(timeout=5), 0.1)
            assert calls == [("begins", ALL)]
            resume.set()
            # Positions resolve after the assignment; by now one is committed at its end.
            found: list[ottla.Record] = []
            while len(found) < 3:
                found += await consumer.poll(timeout=5)
            assert calls == [("begins", ALL), "ends"]

    run(work())
    assert calls[-1] == ("revoked", ALL, ALL)


def test_a_callback_exception_is_raised_from_poll(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async def fail(consumer: AsyncConsumer, partitions: list[tuple[str, int]]) -> None:
            await asyncio.sleep(0)
            raise LookupError("mine")

        async with AsyncConsumer(mock_cluster.bootstrap, group_id="g") as consumer:
            consumer.subscribe([topic], on_assigned=fail)
            with pytest.raises(LookupError, match="mine"):
                await consumer.poll(timeout=30)
            assert await consumer.poll(timeout=0.05) == []

    run(work())


def test_only_one_task_polls_and_others_can_wake_it(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncConsumer(mock_cluster.bootstrap) as consumer:
            consumer.assign(ALL)
            task = asyncio.ensure_future(consumer.poll(timeout=30))
            await asyncio.sleep(0.05)
            for call in (consumer.poll, consumer.poll_arrow):
                with pytest.raises(errors.StateError, match="another task"):
                    await call()
            with pytest.raises(errors.StateError, match="another task"):
                await consumer.__anext__()
            consumer.wakeup()
            with pytest.raises(errors.WakeupError):
                await task
            assert await consumer.poll(timeout=0) == []
            task = asyncio.ensure_future(consumer.poll(timeout=30))
            await asyncio.sleep(0.05)
        with pytest.raises(errors.ClosedError):
            await task
        for closed in (consumer.poll, consumer.commit, consumer.end_offsets, consumer.__anext__):
            with pytest.raises(errors.ClosedError):
                await closed()
        await consumer.close()
        assert repr(consumer).startswith("AsyncConsumer(bootstrap=")
        assert repr(consumer).endswith(", closed)")

    run(work())


def test_a_commit_covers_records_returned_before_the_call(
    mock_cluster: MockCluster, topic: str
) -> None:
    fill(mock_cluster, 100)

    async def work() -> None:
        config = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with AsyncConsumer(mock_cluster.bootstrap, config, group_id="g") as consumer:
            consumer.assign([(topic, 0)])
            commits = []
            async for record in consumer:
                commits.append(consumer.commit())
                if record.offset == 49:
                    break
            assert await consumer.poll(timeout=5)
            await asyncio.gather(*commits)
            committed = (await consumer.committed())[topic, 0]
            assert committed is not None
            assert committed.offset == 50

    run(work())


def test_two_hundred_consumers_share_the_threads(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("wide", partitions=200)
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for partition in range(200):
            producer.send("wide", str(partition), partition=partition)

    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    async def work() -> tuple[int, int]:
        async def read(consumer: AsyncConsumer, partition: int) -> None:
            await consumer.connect()
            consumer.assign([("wide", partition)])
            async for record in consumer:
                assert record.value == str(partition).encode()
                return

        config = {"auto_offset_reset": "earliest"}
        one = AsyncConsumer(mock_cluster.bootstrap, config)
        await read(one, 0)
        before = threads()
        many = [AsyncConsumer(mock_cluster.bootstrap, config) for _ in range(200)]
        await asyncio.gather(*(read(consumer, n) for n, consumer in enumerate(many)))
        idle = [asyncio.ensure_future(consumer.poll(timeout=30)) for consumer in many]
        await asyncio.sleep(0.2)
        during = threads()
        await asyncio.gather(*(consumer.close() for consumer in [one, *many]))
        ended = await asyncio.gather(*idle, return_exceptions=True)
        assert {type(error) for error in ended} == {errors.ClosedError}
        return before, during

    before, during = run(work())
    assert during <= before


@pytest.mark.deep
def test_polling_does_not_block_the_loop(mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, 5000)

    async def work() -> float:
        late = 0.0

        async def tick() -> None:
            nonlocal late
            while True:
                began = time.monotonic()
                await asyncio.sleep(0.01)
                late = max(late, time.monotonic() - began - 0.01)

        async with AsyncConsumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign(ALL)
            ticker = asyncio.ensure_future(tick())
            count = 0
            async for _ in consumer:
                count += 1
                if count == 15_000:
                    break
            await asyncio.sleep(0.05)
            ticker.cancel()
        return late

    assert run(work()) < 1.0
    assert threading.active_count() < 50


def test_ctrl_c_interrupts_poll() -> None:
    assert_interruptible(
        """
        import asyncio
        cluster = MockCluster(brokers=1)
        cluster.create_topic("t")
        async def main():
            async with ottla.AsyncConsumer(cluster.bootstrap) as consumer:
                consumer.assign([("t", 0)])
                say("waiting")
                await consumer.poll(timeout=60)
        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            say("interrupted")
            os._exit(7)
        """,
        2.0,
        code=7,
    )
