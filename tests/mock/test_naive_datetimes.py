"""Every parameter that takes a time rejects naive datetimes with the same message."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.loops import run

AWARE = datetime(2024, 2, 29, 12, 30, 15, 123_000, tzinfo=timezone.utc)
NAIVE = AWARE.replace(tzinfo=None)
MILLIS = round(AWARE.timestamp() * 1000)
WORDS = r"naive datetime: give it a time zone, e\.g\. datetime\.now\(timezone\.utc\)"


def _send(servers: str, when: datetime) -> object:
    with ottla.Producer(servers) as producer:
        return producer.send("orders", "v", timestamp=when).result(timeout=30).timestamp


def _send_batch(servers: str, when: datetime) -> object:
    with ottla.Producer(servers) as producer:
        return producer.send_batch("orders", ["v"], timestamps=[when]).result(timeout=30)


def _list_offsets(servers: str, when: datetime) -> object:
    with ottla.Client(servers) as client:
        return client.list_offsets({("orders", 0): when})


def _offsets_for_times(servers: str, when: datetime) -> object:
    with ottla.Consumer(servers) as consumer:
        return consumer.offsets_for_times({("orders", 0): when})


def _scan_start(servers: str, when: datetime) -> object:
    return list(ottla.scan("orders", servers, start=when))


def _scan_end(servers: str, when: datetime) -> object:
    return list(ottla.scan("orders", servers, end=when))


async def _async_send(servers: str, when: datetime) -> object:
    async with ottla.AsyncProducer(servers) as producer:
        return (await producer.send("orders", "v", timestamp=when)).timestamp


async def _async_send_batch(servers: str, when: datetime) -> object:
    async with ottla.AsyncProducer(servers) as producer:
        return await (await producer.send_batch("orders", ["v"], timestamps=[when])).result()


async def _async_list_offsets(servers: str, when: datetime) -> object:
    async with ottla.AsyncClient(servers) as client:
        return await client.list_offsets({("orders", 0): when})


async def _async_offsets_for_times(servers: str, when: datetime) -> object:
    async with ottla.AsyncConsumer(servers) as consumer:
        return await consumer.offsets_for_times({("orders", 0): when})


TAKES: list[Callable[[str, datetime], Any]] = [
    _send,
    _send_batch,
    _list_offsets,
    _offsets_for_times,
    _scan_start,
    _scan_end,
    _async_send,
    _async_send_batch,
    _async_list_offsets,
    _async_offsets_for_times,
]


def call(take: Callable[[str, datetime], Any], servers: str, when: datetime) -> object:
    """Call the function and run the coroutine that it may return."""
    return run(take(servers, when)) if take.__name__.startswith("_async") else take(servers, when)


@pytest.mark.parametrize("take", TAKES)
def test_naive_datetimes_are_rejected(
    take: Callable[[str, datetime], Any], mock_cluster: MockCluster, topic: str
) -> None:
    with pytest.raises(errors.ConfigError, match=WORDS) as raised:
        call(take, mock_cluster.bootstrap, NAIVE)
    assert str(NAIVE) in str(raised.value)
    assert sum(mock_cluster.end_offset(topic, partition) for partition in range(3)) == 0
    call(take, mock_cluster.bootstrap, AWARE)


def test_aware_datetimes_are_converted_to_utc(mock_cluster: MockCluster, single: str) -> None:
    elsewhere = AWARE.astimezone(timezone(timedelta(hours=-5)))
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for when in (MILLIS - 1, MILLIS, MILLIS + 1):
            producer.send(single, "v", timestamp=when).result(timeout=30)
    with ottla.Consumer(mock_cluster.bootstrap) as consumer:
        times: list[datetime | int] = [AWARE, elsewhere, MILLIS]
        for time in times:
            found = consumer.offsets_for_times({(single, 0): time})[single, 0]
            assert found is not None
            assert (found.offset, found.timestamp) == (1, MILLIS)
        with pytest.raises(errors.ConfigError, match="milliseconds since 1970 or a datetime"):
            consumer.offsets_for_times({(single, 0): -1})


def test_a_column_without_a_time_zone_is_in_utc(mock_cluster: MockCluster, single: str) -> None:
    """Arrow columns without a time zone count as UTC: pyarrow stores naive datetimes unchanged."""
    table = pa.table({"value": ["v"], "timestamp": pa.array([NAIVE], pa.timestamp("us"))})
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        assert producer.send_batch(single, table).result(timeout=30) == 1
    with ottla.Consumer(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(single, 0)])
        assert next(consumer).timestamp == MILLIS
