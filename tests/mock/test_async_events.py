"""``AsyncEvents``: awaitable cluster events; a cancelled wait loses none."""

from __future__ import annotations

import asyncio
import time

import pytest

from ottla import AsyncClient, AsyncEvents, Event, errors
from ottla.testing import MockCluster
from tests.support.loops import run

TIMEOUT = 60.0


async def wait_for_event(events: AsyncEvents, kind: str) -> Event:
    """Return the next event of this kind."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        event = await events.next(timeout=max(0.0, deadline - time.monotonic()))
        assert event is not None, f"no {kind} event within the timeout"
        if event.kind == kind:
            return event


def test_events_as_they_happen(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap, metadata_max_age_ms=200) as client:
            events = await client.events()
            await client.cluster([topic])
            assert (await wait_for_event(events, "topic_appeared")).topic == topic
            before = mock_cluster.leader(topic, 0)
            assert before is not None
            mock_cluster.move_leader(topic, 0, before % 3 + 1)
            moved = await wait_for_event(events, "leader_changed")
            assert (moved.before, moved.after) == (before, before % 3 + 1)
            mock_cluster.stop_broker(before)
            assert (await wait_for_event(events, "broker_lost")).broker == before

    run(work())


def test_events_of_all_topics_include_unused_ones(mock_cluster: MockCluster, topic: str) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap, metadata_max_age_ms=200) as client:
            events = await client.events(all_topics=True)
            mock_cluster.create_topic("new", partitions=2)
            appeared = await wait_for_event(events, "topic_appeared")
            assert (appeared.topic, appeared.after) == ("new", 2)
            mock_cluster.delete_topic(topic)
            assert (await wait_for_event(events, "topic_gone")).topic == topic

    run(work())


def test_iterating_ends_with_the_client(mock_cluster: MockCluster) -> None:
    async def work() -> None:
        client = AsyncClient(mock_cluster.bootstrap)
        events = await client.events()

        async def read() -> list[str]:
            return [event.kind async for event in events]

        reader = asyncio.ensure_future(read())
        await client.connect()
        await client.close()
        assert "connection_opened" in await reader
        assert [event async for event in events] == []
        with pytest.raises(errors.ClosedError):
            await events.next()

    run(work())


def test_a_cancelled_wait_loses_no_event(mock_cluster: MockCluster) -> None:
    """Each topic is reported once, although waits are cancelled at arbitrary moments."""
    names = [f"t{number:03}" for number in range(100)]

    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap) as client:
            events = await client.events(all_topics=True)
            seen: list[str | None] = []

            async def read() -> None:
                pause = 0.0
                while len(seen) < len(names):
                    pause = (pause + 0.000_17) % 0.003
                    waiting = asyncio.ensure_future(events.next())
                    await asyncio.sleep(pause)
                    # The event may not have arrived, may be queued, or may have been returned.
                    if not waiting.cancel():
                        event = waiting.result()
                        assert event is not None
                        if event.kind == "topic_appeared":
                            seen.append(event.topic)

            reader = asyncio.ensure_future(read())
            for name in names:
                mock_cluster.create_topic(name)
                await client.cluster(refresh=True)
            await reader
            assert seen == names

    run(work())


def test_two_readers_share_the_events(mock_cluster: MockCluster) -> None:
    names = [f"t{number}" for number in range(20)]

    async def work() -> None:
        client = AsyncClient(mock_cluster.bootstrap)
        events = await client.events(all_topics=True)

        async def read() -> list[str | None]:
            return [event.topic async for event in events if event.kind == "topic_appeared"]

        readers = [asyncio.ensure_future(read()) for _ in range(2)]
        for name in names:
            mock_cluster.create_topic(name)
        await client.cluster(refresh=True)
        await client.close()
        both = await asyncio.gather(*readers)
        assert sorted(topic for seen in both for topic in seen if topic) == sorted(names)

    run(work())


def test_timeout_without_events_returns_none(mock_cluster: MockCluster) -> None:
    async def work() -> None:
        async with AsyncClient(mock_cluster.bootstrap) as client:
            events = await client.events()
            assert await events.next(timeout=0.05) is None
            with pytest.raises(errors.ConfigError):
                await events.next(timeout=-1)

    run(work())
