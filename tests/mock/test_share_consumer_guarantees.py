"""The guarantees of docs/guides/share-groups.md: lost responses, moved leaders, failing records."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import ottla
from ottla import AcknowledgeType, errors
from ottla.admin import ConfigResource
from ottla.testing import Fault, MockCluster
from tests.support.consumers import SHARE_KINDS, TIMEOUT, read
from tests.support.kafka_admin import wait_until

Open = Callable[..., Any]


@pytest.fixture(params=sorted(SHARE_KINDS))
def open_consumer(
    request: pytest.FixtureRequest, mock_cluster: MockCluster, single: str
) -> Iterator[Open]:
    """Open a share consumer with explicit acknowledgement, of a topic with six records."""
    mock_cluster.append(single, 0, [b"v%d" % n for n in range(6)])
    configure(mock_cluster, **{"share.auto.offset.reset": "earliest"})
    with ExitStack() as stack:

        def open_one(**config: Any) -> Any:
            config = {"share_acknowledgement_mode": "explicit", **config}
            kind = SHARE_KINDS[request.param]
            consumer = kind(mock_cluster.bootstrap, topics=[single], group_id="g", **config)
            return stack.enter_context(consumer)

        yield open_one


def configure(cluster: MockCluster, **config: str) -> None:
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.alter_configs({ConfigResource("group", "g"): config})


def deliveries(records: list[ottla.Record[Any, Any]]) -> list[tuple[int, int | None]]:
    return [(record.offset, record.delivery_count) for record in records]


def test_a_poll_sends_acknowledgements_without_a_response_again(
    mock_cluster: MockCluster, single: str, open_consumer: Open
) -> None:
    consumer = open_consumer()
    results: list[Any] = []
    consumer.set_acknowledgement_commit_callback(lambda *result: results.append(result))
    read(consumer, 6)
    consumer.acknowledge_all()
    mock_cluster.inject(Fault.disconnect("after"), api="ShareFetch", times=1)
    mock_cluster.append(single, 0, [b"v6"])
    (record,) = read(consumer, 1)
    assert record.offset == 6
    consumer.acknowledge(record)
    assert consumer.commit() == {(single, 0): None}
    assert {error for error, _ in results} == {None}
    ranges = [each for _, offsets in results for each in offsets[single, 0]]
    assert {n for first, last in ranges for n in range(first, last + 1)} == set(range(7))


def test_an_acknowledgement_is_void_once_its_record_was_acquired_again(
    mock_cluster: MockCluster, single: str, open_consumer: Open
) -> None:
    """The broker releases the records of a broken connection; the lost acknowledgement is void."""
    consumer = open_consumer()
    read(consumer, 6)
    consumer.acknowledge_all(AcknowledgeType.REJECT)
    mock_cluster.inject(Fault.disconnect("before"), api="ShareFetch", times=1)
    assert deliveries(read(consumer, 6)) == [(offset, 2) for offset in range(6)]
    consumer.acknowledge_all()
    assert consumer.commit() == {(single, 0): None}


def test_locks_do_not_move_with_the_leader(
    mock_cluster: MockCluster, single: str, open_consumer: Open
) -> None:
    consumer = open_consumer()
    read(consumer, 6)
    consumer.acknowledge_all()
    leader = mock_cluster.leader(single, 0)
    assert leader is not None
    mock_cluster.move_leader(single, 0, 1 + leader % 3)
    (error,) = consumer.commit().values()
    assert isinstance(error, errors.KafkaError)
    assert "the leader has moved" in str(error)
    # The new leader does not know all delivery counts.
    assert [record.offset for record in read(consumer, 6)] == list(range(6))
    consumer.acknowledge_all()
    assert consumer.commit() == {(single, 0): None}


def test_a_record_that_is_delivered_too_often_is_archived(
    mock_cluster: MockCluster, single: str, open_consumer: Open
) -> None:
    configure(mock_cluster, **{"share.delivery.count.limit": "2"})
    consumer = open_consumer()
    for record in read(consumer, 6):
        failed = record.offset == 3
        consumer.acknowledge(record, AcknowledgeType.RELEASE if failed else None)
    (again,) = read(consumer, 1)
    assert (again.offset, again.delivery_count) == (3, 2)
    consumer.acknowledge(again, AcknowledgeType.RELEASE)
    assert consumer.commit() == {(single, 0): None}
    mock_cluster.append(single, 0, [b"v6"])
    (record,) = read(consumer, 1)
    assert record.offset == 6
    consumer.acknowledge(record)


def test_an_exception_sends_explicit_acknowledgements_and_releases_the_rest(
    open_consumer: Open,
) -> None:
    consumer = open_consumer()
    for record in read(consumer, 6)[:4]:
        consumer.acknowledge(record)
    consumer.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    other = open_consumer()
    assert deliveries(read(other, 2)) == [(4, 2), (5, 2)]
    other.acknowledge_all()


def test_buffered_records_whose_locks_expire_are_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with MockCluster(share_lock_duration=1.0) as cluster:
        cluster.create_topic("single", partitions=1)
        cluster.append("single", 0, [b"v%d" % n for n in range(6)])
        config = {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "10"}
        configure(cluster, **config)
        with ottla.ShareConsumer(
            cluster.bootstrap, topics=["single"], group_id="g", fetch_max_wait_ms=20
        ) as consumer:
            while not consumer.poll(timeout=0.5, max_records=1):
                pass
            time.sleep(1)  # The locks expire by time alone.
            with caplog.at_level(logging.WARNING, logger="ottla"):
                again: dict[int, int | None] = {}
                deadline = time.monotonic() + TIMEOUT
                while not set(again) >= set(range(1, 6)) and time.monotonic() < deadline:
                    again |= dict(deliveries(consumer.poll(timeout=0.5)))
            # A thread of its own hands events to logging.
            warning = "lock of records expired before a poll delivered them"
            wait_until(lambda: warning in caplog.text, lambda: caplog.text)
            assert set(again) >= set(range(1, 6))
            assert all(count is not None and count > 1 for count in again.values())


def test_corrupt_records_are_released_and_fetched_again(
    mock_cluster: MockCluster, open_consumer: Open
) -> None:
    mock_cluster.inject(Fault.corrupt_records(), api="ShareFetch", times=1)
    consumer = open_consumer()
    with pytest.raises(errors.KafkaError, match="unreadable records were released"):
        read(consumer, 6)
    assert deliveries(read(consumer, 6)) == [(offset, 2) for offset in range(6)]
    consumer.acknowledge_all()


def test_a_result_comes_before_its_record_is_delivered_again(
    mock_cluster: MockCluster, single: str, open_consumer: Open
) -> None:
    consumer = open_consumer()
    results: list[int] = []

    def note(_error: object, offsets: Any) -> None:
        ranges = offsets[single, 0]
        results.extend(n for first, last in ranges for n in range(first, last + 1))

    consumer.set_acknowledgement_commit_callback(note)
    delivered: Counter[int] = Counter()
    while delivered.total() < 4 * 6:
        # The response with the results of releases has their records again.
        for record in read(consumer, 1):
            assert results.count(record.offset) == delivered[record.offset]
            delivered[record.offset] += 1
            consumer.acknowledge(record, AcknowledgeType.RELEASE)
