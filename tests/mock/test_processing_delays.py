"""``ottla.processing`` on the mock: retry topics, delays, and partitions that keep their order."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.processing import (
    DELAYS,
    PROCESSORS,
    committed,
    content,
    errors_of,
    make,
    run_until,
    running,
    send,
    written,
)
from tests.support.waiting import wait_until


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


def test_a_record_that_fails_is_retried_with_its_delays_and_then_a_dead_letter(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """The handler sees the record as it was first read; the letter says what happened and where."""
    headers = [("a", b"1"), ("empty", None), ("a", b"2"), ("bytes", b"\xff")]
    send(mock_cluster, b"good", b"bad", b"last", key="k", headers=headers, timestamp=1234)
    seen: list[tuple[float, Any]] = []

    def handle(record: ottla.Record) -> None:
        seen.append((time.monotonic(), record))
        if record.value == b"bad":
            raise ValueError("no such customer, password=hunter2\n")

    processor = make(kind, mock_cluster, handle)
    run_until(processor, lambda: processor.metrics()["record-dead-letter-total"])
    bad = [(at, record) for at, record in seen if record.value == b"bad"]
    assert len(bad) == 3
    assert len({content(record) for _, record in bad}) == 1
    assert bad[0][1].headers == tuple(headers)
    for (before, _), (after, _), delay in zip(bad, bad[1:], DELAYS, strict=False):
        assert after - before >= delay - 0.01
    assert [each.value for _, each in seen[:3]] == [b"good", b"bad", b"last"]
    (letter,) = written(mock_cluster.bootstrap, "orders.dead-letters")
    assert (letter.key, letter.value, letter.headers[:4]) == (b"k", b"bad", tuple(headers))
    assert errors_of(letter) == {
        "message": "no such customer, password=***\\n",
        "topic": topic,
        "partition": "0",
        "offset": "1",
        "timestamp": "1234",
        "attempts": "3",
        "exception": "ValueError",
        "group": "billing",
    }
    assert committed(mock_cluster, "billing", topic)[0] == 3


def test_odd_records_come_back_as_they_were(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """Tombstones, keys that are null or empty, no headers: another attempt sees the same."""
    send(mock_cluster, None, b"", key=None)
    send(mock_cluster, None, key=b"")
    seen: list[Any] = []

    async def handle_async(record: ottla.Record) -> None:
        handle(record)

    def handle(record: ottla.Record) -> None:
        seen.append(content(record))
        if processor.attempt == 1:
            raise KeyError(record.offset)

    handler = handle_async if kind is PROCESSORS["asyncio"] else handle
    processor = make(kind, mock_cluster, handler)
    run_until(processor, lambda: len(seen) == 6)
    assert [each[2] for each in seen[:3]] == [0, 1, 2]
    assert sorted(seen[3:]) == seen[:3]


def test_a_partition_that_keeps_its_order_waits_and_remembers_the_attempt(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """No later record passes it; another process knows how often it failed, and when it is due."""
    send(mock_cluster, b"a", b"bad", b"c")
    seen: list[tuple[bytes, int]] = []

    def handle(record: Any) -> None:
        seen.append((record.value, processor.attempt))
        if record.value == b"bad":
            raise ValueError("bad")

    options = {"keep_order": True, "retry_delays": [0.1, 3600]}
    processor = make(kind, mock_cluster, handle, **options)
    run_until(processor, lambda: len(seen) == 3)
    assert seen == [(b"a", 1), (b"bad", 1), (b"bad", 2)]
    assert processor.metrics()["records-waiting"] == 0
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        offset = admin.list_group_offsets(["billing"])["billing"][topic, 0]
    assert offset.offset == 1
    waiting = json.loads(offset.metadata or "")["ottla.processing"]
    assert waiting["attempts"] == 2
    processor = make(kind, mock_cluster, handle, **options)
    with running(processor):
        wait_until(lambda: processor.metrics()["records-waiting"] == 1)
    assert len(seen) == 3
    # Once the time has come, the last attempt is made, and the partition goes on.
    processor = make(kind, mock_cluster, handle, keep_order=True, retry_delays=[0.1, 0.1])
    run_until(processor, lambda: (b"c", 1) in seen)
    assert seen[3:] == [(b"bad", 3), (b"c", 1)]
    assert len(written(mock_cluster.bootstrap, "orders.dead-letters")) == 1


def test_records_of_other_groups_are_passed_over(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    """Two groups share the retry topics: each makes the attempts of its own records."""
    send(mock_cluster, b"a")
    seen: list[str] = []

    def handler(group: str) -> Any:
        def handle(_: Any) -> None:
            seen.append(group)
            raise ValueError(group)

        return handle

    options: dict[str, Any] = {"retry_delays": [0.1]}
    for group in ("one", "two"):
        processor = make(kind, mock_cluster, handler(group), group_id=group, **options)
        run_until(processor, lambda: len(written(mock_cluster.bootstrap, "orders.dead-letters")))
        run_until(processor, lambda: seen.count(group) == 2)  # noqa: B023 - called in the loop
    assert seen == ["one", "one", "two", "two"]
