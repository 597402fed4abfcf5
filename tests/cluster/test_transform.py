"""``transform`` and ``transform_async``: the same on the mock and on Kafka."""

from __future__ import annotations

import asyncio
import threading
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ottla
from ottla import deserializers, serializers
from tests.cluster.conftest import Brokers
from tests.support.committed import committed_rows
from tests.support.loops import run

RECORDS = 300


def source_of(brokers: Brokers, partitions: int = 2) -> str:
    """Return a topic with numbers as values."""
    topic = brokers.create_topic(partitions)
    with ottla.Producer(brokers.bootstrap) as producer:
        producer.send_batch(
            topic,
            [b"%d" % i for i in range(RECORDS)],
            partitions=[i % partitions for i in range(RECORDS)],
        )
    return topic


def committed_numbers(brokers: Brokers, topic: str, *, all_ended: bool = True) -> list[int]:
    rows = committed_rows(brokers.bootstrap, topic, all_ended=all_ended)
    return sorted(int(row["value"]) for row in rows)


def new_group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


class Stop:
    """A flag that is set once a number of records was seen."""

    def __init__(self, after: int) -> None:
        self._after = after
        self.seen = 0

    def is_set(self) -> bool:
        return self.seen >= self._after


def test_records(brokers: Brokers) -> None:
    source, target = source_of(brokers), brokers.create_topic(2)
    stop = Stop(RECORDS)

    def function(record: ottla.Record[Any, Any]) -> Any:
        stop.seen += 1
        number = int(record.value)
        if number % 3 == 0:
            return None
        if number % 3 == 1:
            return record.value
        return [(b"key", record.value), {"value": record.value, "partition": 1}]

    summary = ottla.transform(
        function, source, target, brokers.bootstrap, group_id=new_group(), stop=stop, max_records=40
    )
    expected = sorted([n for n in range(RECORDS) if n % 3] + list(range(2, RECORDS, 3)))
    assert committed_numbers(brokers, target) == expected
    assert (summary.records, summary.outputs) == (RECORDS, len(expected))
    assert summary.transactions >= RECORDS // 40
    assert summary.aborted == 0


def test_arrow(brokers: Brokers) -> None:
    source, target = source_of(brokers), brokers.create_topic()
    stop = Stop(RECORDS)

    def function(batch: ottla.RecordBatch) -> pa.RecordBatch:
        rows = pa.record_batch(batch)
        stop.seen += rows.num_rows
        numbers = pc.cast(pc.cast(rows["value"], pa.string()), pa.int64())
        doubled = pc.cast(pc.cast(pc.multiply(numbers, 2), pa.string()), pa.binary())
        return pa.record_batch({"value": doubled})

    summary = ottla.transform(
        function, source, target, brokers.bootstrap, group_id=new_group(), stop=stop, arrow=True
    )
    assert committed_numbers(brokers, target) == [2 * n for n in range(RECORDS)]
    assert summary.records == RECORDS


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
def test_serializers_and_deserializers(brokers: Brokers, is_async: bool) -> None:
    source, target = source_of(brokers), brokers.create_topic()
    stop = Stop(RECORDS)

    def function(record: ottla.Record[Any, Any]) -> Any:
        stop.seen += 1
        return {"n": record.value}, record.value

    def call() -> Any:
        return (ottla.transform_async if is_async else ottla.transform)(
            function,
            source,
            target,
            brokers.bootstrap,
            group_id=new_group(),
            stop=stop,
            value_deserializer=deserializers.json,
            key_serializer=serializers.json,
            value_serializer=serializers.int32,
        )

    if is_async:
        run(call())
    else:
        call()
    rows = committed_rows(brokers.bootstrap, target)
    keys = [b'{"n":%d}' % n for n in range(RECORDS)]
    assert sorted(row["key"] for row in rows) == sorted(keys)
    assert sorted(deserializers.int32(row["value"]) for row in rows) == list(range(RECORDS))


def test_an_exception_commits_nothing_and_the_next_run_continues(brokers: Brokers) -> None:
    source, target, group = source_of(brokers), brokers.create_topic(), new_group()
    calls = 0

    def failing(record: ottla.Record[Any, Any]) -> Any:
        nonlocal calls
        calls += 1
        if calls == 100:
            raise ZeroDivisionError("on purpose")
        return record.value

    config = {"group.id": group, "transactional.id": f"{group}-1"}
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        ottla.transform(failing, source, target, brokers.bootstrap, config, max_records=30)
    before = committed_numbers(brokers, target)
    assert len(before) < 100
    stop = Stop(RECORDS - len(before))

    def working(record: ottla.Record[Any, Any]) -> Any:
        stop.seen += 1
        return record.value

    ottla.transform(working, source, target, brokers.bootstrap, config, stop=stop)
    assert committed_numbers(brokers, target) == list(range(RECORDS))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_share_the_partitions(brokers: Brokers, protocol: str) -> None:
    source, target, group = source_of(brokers, 4), brokers.create_topic(), new_group()
    stop = threading.Event()
    summaries: list[ottla.TransformSummary] = []

    def member(delay: float) -> None:
        def function(record: ottla.Record[Any, Any]) -> Any:
            stop.wait(delay)
            return record.value

        summaries.append(
            ottla.transform(
                function,
                source,
                target,
                brokers.bootstrap,
                {"group.id": group, "group.protocol": protocol},
                stop=stop,
                max_records=10,
            )
        )

    members = [threading.Thread(target=member, args=(delay,)) for delay in (0.002, 0.003, 0.001)]
    for thread in members:
        thread.start()
    for _ in range(240):
        if len(committed_numbers(brokers, target, all_ended=False)) >= RECORDS:
            break
        stop.wait(0.25)
    stop.set()
    for thread in members:
        thread.join(60)
    assert committed_numbers(brokers, target) == list(range(RECORDS))
    assert sum(summary.records for summary in summaries) == RECORDS


def test_asyncio(brokers: Brokers) -> None:
    source, target = source_of(brokers), brokers.create_topic()
    stop = Stop(RECORDS)

    async def function(record: ottla.Record[Any, Any]) -> Any:
        await asyncio.sleep(0)
        stop.seen += 1
        return record.value

    summary = run(
        ottla.transform_async(
            function, [source], target, brokers.bootstrap, group_id=new_group(), stop=stop
        )
    )
    assert committed_numbers(brokers, target) == list(range(RECORDS))
    assert summary.records == RECORDS


def test_cancelling_aborts(brokers: Brokers) -> None:
    source, target, group = source_of(brokers), brokers.create_topic(), new_group()
    started = asyncio.Event()

    async def function(record: ottla.Record[Any, Any]) -> Any:
        started.set()
        await asyncio.sleep(60)
        return record.value

    async def work() -> None:
        task = asyncio.ensure_future(
            ottla.transform_async(function, source, target, brokers.bootstrap, group_id=group)
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())
    assert committed_numbers(brokers, target) == []
    with ottla.Consumer(brokers.bootstrap, group_id=group) as consumer:
        committed = consumer.committed((source, 0), (source, 1))
    assert [offset.offset for offset in committed.values() if offset] == [0, 0]
