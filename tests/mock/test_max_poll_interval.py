"""A consumer that does not poll for ``max.poll.interval.ms`` leaves its group, raises, and rejoins
with the next poll: blocking and asyncio, both protocols, polled and iterated over."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.consumers import KINDS, TIMEOUT, positions_of, read
from tests.support.waiting import wait_until

ALL = [(p, n) for p in range(3) for n in range(10)]


@pytest.fixture(params=["classic", "consumer"])
def config(request: pytest.FixtureRequest, mock_cluster: MockCluster, topic: str) -> dict[str, Any]:
    """The configuration of a member of the group `g`; each partition has ten records."""
    for partition in range(3):
        mock_cluster.append(topic, partition, [b"v"] * 10)
    heartbeat = {"heartbeat_interval_ms": 100} if request.param == "classic" else {}
    return {
        "topics": [topic],
        "group_id": "g",
        "group_protocol": request.param,
        "auto_offset_reset": "earliest",
        # A machine pause exceeds the interval as well.
        "max_poll_interval_ms": 2500,
        **heartbeat,
    }


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.mark.parametrize("how", ["poll", "iterate"])
def test_exceeding_the_interval_raises_and_the_next_poll_rejoins(
    mock_cluster: MockCluster, kind: Any, config: dict[str, Any], how: str
) -> None:
    def take(count: int) -> list[tuple[int, int]]:
        if how == "iterate":
            return positions_of([next(consumer) for _ in range(count)])
        return positions_of(read(consumer, count))

    lost: list[tuple[str, int]] = []
    with kind(mock_cluster.bootstrap, enable_auto_commit=False, **config) as consumer:
        consumer.subscribe(config["topics"], on_lost=lambda _, gone: lost.extend(gone))
        assert sorted(take(30)) == ALL
        first = consumer.group_metadata()
        wait_until(lambda: mock_cluster.members("g") == ())
        message = r"max\.poll\.interval\.ms \(2500 ms\)"
        with pytest.raises(errors.KafkaError, match=message) as raised:
            consumer.commit()
        assert raised.value.name == "UNKNOWN_MEMBER_ID"
        assert "Poll more often" in str(raised.value)
        assert mock_cluster.committed("g") == {}
        # It rejoined, lost its partitions, and starts from the group's committed offsets.
        assert sorted(take(30)) == ALL
        assert sorted(lost) == [("orders", partition) for partition in range(3)]
        assert consumer.group_metadata() != first
        consumer.commit()
    assert sorted(mock_cluster.committed("g").values()) == [10, 10, 10]


def test_buffered_records_are_dropped_after_leaving(
    mock_cluster: MockCluster, kind: Any, config: dict[str, Any]
) -> None:
    """The partition may have another owner by now: reading resumes at the committed offset."""
    with kind(mock_cluster.bootstrap, **config) as consumer:
        seen = positions_of([next(consumer) for _ in range(5)])
        wait_until(lambda: mock_cluster.members("g") == ())
        again = positions_of([next(consumer) for _ in range(30)])
        committed = mock_cluster.committed("g")
        assert sorted(again) == ALL, f"{seen} were returned, {committed} committed"


def test_exceeding_the_interval_is_logged(
    mock_cluster: MockCluster, config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """With auto-commit, nothing is raised: the records are delivered again."""
    with ottla.Consumer(mock_cluster.bootstrap, **config) as consumer:
        assert len(read(consumer, 30)) == 30
        wait_until(lambda: "has not polled for max.poll.interval.ms (2500 ms)" in caplog.text)


def test_iterating_counts_as_polling_but_processing_does_not(
    mock_cluster: MockCluster, config: dict[str, Any]
) -> None:
    async def run() -> None:
        async with ottla.AsyncConsumer(
            mock_cluster.bootstrap, enable_auto_commit=False, **config
        ) as consumer:
            for _ in range(30):
                await anext(consumer)
            me = consumer.group_metadata().member_id
            # Iteration that waits for records counts as polling, however long it takes.
            waiting = asyncio.ensure_future(anext(consumer))
            await asyncio.sleep(4.0)
            assert [member.id for member in mock_cluster.members("g")] == [me]
            mock_cluster.append("orders", 0, [b"w"])
            assert (await asyncio.wait_for(waiting, TIMEOUT)).value == b"w"
            # A task that processes a record while awaiting something else does not poll.
            deadline = time.monotonic() + TIMEOUT
            while mock_cluster.members("g"):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            with pytest.raises(errors.KafkaError, match=r"max\.poll\.interval\.ms"):
                await consumer.commit()
            assert (await asyncio.wait_for(anext(consumer), TIMEOUT)).value is not None
            assert len(mock_cluster.members("g")) == 1

    asyncio.run(run())
