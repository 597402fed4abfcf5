"""The share consumer, blocking and asyncio, on the mock and on Apache Kafka (KIP-932)."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import AcknowledgeType, errors
from ottla.testing import MockCluster
from tests.cluster.conftest import Brokers, new_share_group
from tests.support.consumers import TIMEOUT, read

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE
REJECT, RENEW = AcknowledgeType.REJECT, AcknowledgeType.RENEW


@pytest.fixture
def brokers(share_cluster_and_kind: tuple[Brokers, Any]) -> Brokers:
    """The cluster."""
    return share_cluster_and_kind[0]


@pytest.fixture
def kind(share_cluster_and_kind: tuple[Brokers, Any]) -> Any:
    """The class of the share consumer."""
    return share_cluster_and_kind[1]


@pytest.fixture
def group(brokers: Brokers) -> str:
    """A share group that begins at the first record."""
    return new_share_group(brokers)


def fill(brokers: Brokers, count: int, partitions: int = 1, **config: Any) -> str:
    """Create a topic with so many records."""
    topic = brokers.create_topic(partitions=partitions)
    with ottla.Producer(brokers.bootstrap, **config) as producer:
        for n in range(count):
            producer.send(topic, f"v{n}", f"k{n}", partition=n % partitions)
    return topic


def values(records: list[Any]) -> list[Any]:
    return [record.value for record in records]


def poll_until_empty(consumer: Any, seconds: float = 1.5) -> list[Any]:
    """Return the records of polls until one returns none."""
    records: list[Any] = []
    while batch := consumer.poll(timeout=seconds):
        records += batch
    return records


def explicit(kind: Any, brokers: Brokers, topic: str, group: str, **config: Any) -> Any:
    return kind(
        brokers.bootstrap,
        topics=[topic],
        group_id=group,
        share_acknowledgement_mode="explicit",
        **config,
    )


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_members_share_the_records(brokers: Brokers, kind: Any, group: str, codec: str) -> None:
    topic = fill(brokers, 3000, partitions=3, compression_type=codec)
    with (
        kind(brokers.bootstrap, topics=[topic], group_id=group) as first,
        kind(brokers.bootstrap, topics=[topic], group_id=group) as second,
    ):
        seen: Counter[bytes] = Counter()
        deadline = time.monotonic() + TIMEOUT
        while seen.total() < 3000 and time.monotonic() < deadline:
            for member in (first, second):
                for record in member.poll(timeout=0.3):
                    assert (record.topic, record.delivery_count) == (topic, 1)
                    assert record.key == b"k" + record.value[1:]
                    seen[record.value] += 1
        assert seen == Counter(f"v{n}".encode() for n in range(3000))
        assert set(first.commit().values()) | set(second.commit().values()) <= {None}
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as third:
        assert third.poll(timeout=2) == []


def test_each_acknowledge_type(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 10)
    with explicit(kind, brokers, topic, group) as consumer:
        records = read(consumer, 10)
        assert [record.offset for record in records] == list(range(10))
        types = [ACCEPT, RELEASE, REJECT, ACCEPT, RELEASE, RELEASE, ACCEPT, ACCEPT, ACCEPT, REJECT]
        for record, acknowledge_type in zip(records, types, strict=True):
            consumer.acknowledge(record, acknowledge_type)
        assert consumer.commit() == {(topic, 0): None}
        again = read(consumer, 3)
        assert [(r.offset, r.delivery_count) for r in again] == [(1, 2), (4, 2), (5, 2)]
        consumer.acknowledge_all()
        assert poll_until_empty(consumer) == []
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as other:
        assert other.poll(timeout=2) == []


def test_renewed_records_are_delivered_again(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 6)
    with explicit(kind, brokers, topic, group) as consumer:
        records = read(consumer, 6)
        for record in records:
            consumer.acknowledge(record, RENEW if record.offset % 2 else ACCEPT)
        renewed = consumer.poll(timeout=10)
        assert [(r.offset, r.value, r.delivery_count) for r in renewed] == [
            (1, b"v1", 1),
            (3, b"v3", 1),
            (5, b"v5", 1),
        ]
        consumer.acknowledge(renewed[0], RENEW)
        consumer.acknowledge_offsets(topic, 0, 2, 9, type=ACCEPT)
        assert consumer.commit() == {(topic, 0): None}
        (last,) = consumer.poll(timeout=10)
        assert last.offset == 1
        consumer.acknowledge(last, REJECT)
        assert consumer.commit() == {(topic, 0): None}
        assert poll_until_empty(consumer) == []


def test_unacknowledged_records_stop_the_next_poll(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 3)
    with explicit(kind, brokers, topic, group) as consumer:
        records = read(consumer, 3)
        consumer.acknowledge(records[0])
        for _ in range(2):
            with pytest.raises(errors.StateError, match="2 records of the last poll are not"):
                consumer.poll(timeout=1)
        assert consumer.commit() == {(topic, 0): None}
        for wrong in (records[0], ottla.Record(topic, 0, 99), ottla.Record("other", 0, 1)):
            with pytest.raises(errors.StateError, match="cannot be acknowledged"):
                consumer.acknowledge(wrong)
        with pytest.raises(errors.StateError, match="from offset 5 to 9"):
            consumer.acknowledge_offsets(topic, 0, 5, 9)
        with pytest.raises(errors.ConfigError, match="AcknowledgeType"):
            consumer.acknowledge(records[1], 7)
        consumer.acknowledge_all(RELEASE)
    with explicit(kind, brokers, topic, group) as consumer:
        again = read(consumer, 2)
        assert [(r.offset, r.delivery_count) for r in again] == [(1, 2), (2, 2)]
        consumer.acknowledge_all()


def test_implicit_mode_refuses_acknowledgements(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 1)
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        (record,) = read(consumer, 1)
        with pytest.raises(errors.StateError, match=r"share\.acknowledgement\.mode=explicit"):
            consumer.acknowledge(record)
        with pytest.raises(errors.StateError, match=r"share\.acknowledgement\.mode=explicit"):
            consumer.acknowledge_all()


def test_an_exception_in_the_with_block_releases(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 20)

    def fail() -> None:
        with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
            read(consumer, 20)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        again = read(consumer, 20)
        assert {record.delivery_count for record in again} == {2}


def poll_times(consumer: Any, max_records: int, times: int) -> list[Any]:
    """Return the records of so many polls that return some."""
    records: list[Any] = []
    while times > 0:
        if batch := consumer.poll(timeout=1, max_records=max_records):
            records += batch
            times -= 1
    return records


@pytest.mark.parametrize("how", ["close", "block", "iteration", "columns"])
def test_closing_releases_the_records_of_the_last_poll(
    brokers: Brokers, kind: Any, group: str, how: str
) -> None:
    """Only a poll and a commit accept: an application that stops need not have processed them."""
    topic = fill(brokers, 20)
    config = {"topics": [topic], "group_id": group, "max_poll_records": 10}
    consumer = kind(brokers.bootstrap, **config, share_acquire_mode="record_limit")
    if how == "block":
        with consumer:
            assert values(read(consumer, 10)) == [f"v{n}".encode() for n in range(10)]
    elif how == "iteration":
        for record in consumer:
            if record.offset == 9:
                break
        consumer.close()
    elif how == "columns":
        while consumer.poll_arrow(timeout=0.5, max_rows=10) is None:
            pass
        consumer.close()
    else:
        assert len(read(consumer, 10)) == 10
        consumer.close()
    kept = 9 if how == "iteration" else 0
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        again = read(consumer, 20 - kept)
        assert [record.offset for record in again] == list(range(kept, 20))
        counts = {record.offset: record.delivery_count for record in again}
        assert counts[9] == 2, counts
        assert set(consumer.commit().values()) == {None}
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        assert consumer.poll(timeout=2) == [], "a commit accepts the records of the last poll"


def test_closing_sends_the_acknowledgements_of_earlier_polls(
    brokers: Brokers, kind: Any, group: str
) -> None:
    topic = fill(brokers, 20)
    config = {"topics": [topic], "group_id": group}
    with kind(brokers.bootstrap, **config) as consumer:
        assert [record.offset for record in poll_times(consumer, 5, 2)] == list(range(10))
    with kind(brokers.bootstrap, **config) as consumer:
        again = read(consumer, 15)
        assert [record.offset for record in again] == list(range(5, 20))


def test_iteration_accepts_record_by_record(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 20)

    def fail() -> None:
        with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
            for count, record in enumerate(consumer):
                assert record.offset == count
                if count == 7:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        again = read(consumer, 13)
        assert [record.offset for record in again] == list(range(7, 20))


def test_columns_with_delivery_counts(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 1000, partitions=3, compression_type="lz4")
    with explicit(kind, brokers, topic, group) as consumer:
        rows: list[dict[str, Any]] = []
        deadline = time.monotonic() + TIMEOUT
        while len(rows) < 1000 and time.monotonic() < deadline:
            batch = consumer.poll_arrow(timeout=0.5, max_rows=150, columns=["value", "partition"])
            if batch is None:
                continue
            table = pa.record_batch(batch)
            assert table.schema.names == ["value", "partition", "deliveryCount"]
            assert table.schema.field("deliveryCount").type == pa.int16()
            assert 0 < table.num_rows <= 150
            rows += table.to_pylist()
            consumer.acknowledge_all()
        assert sorted(row["value"] for row in rows) == sorted(f"v{n}".encode() for n in range(1000))
        assert {row["deliveryCount"] for row in rows} == {1}
        assert set(consumer.commit().values()) <= {None}
        assert consumer.poll_arrow(timeout=1) is None


def test_columns_hold_acquired_records_only(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 300, compression_type="zstd")
    with explicit(kind, brokers, topic, group) as consumer:
        for record in read(consumer, 300):
            consumer.acknowledge(record, RELEASE if record.offset % 3 == 0 else ACCEPT)
        consumer.commit()
        rows: list[dict[str, Any]] = []
        deadline = time.monotonic() + TIMEOUT
        while len(rows) < 100 and time.monotonic() < deadline:
            if batch := consumer.poll_arrow(timeout=0.5, max_rows=70):
                rows += pa.record_batch(batch).to_pylist()
                consumer.acknowledge_all()
        assert [row["offset"] for row in rows] == list(range(0, 300, 3))
        assert {row["deliveryCount"] for row in rows} == {2}
        assert consumer.poll_arrow(timeout=1) is None


def test_results_of_acknowledgements(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 20)
    calls: list[tuple[Any, Any]] = []
    with explicit(kind, brokers, topic, group) as consumer:
        consumer.set_acknowledgement_commit_callback(
            lambda error, offsets: calls.append((error, offsets))
        )
        records = read(consumer, 20)
        for record in records:
            if not 5 <= record.offset < 8:
                consumer.acknowledge(record)
        consumer.commit_async()
        deadline = time.monotonic() + TIMEOUT
        while not calls and time.monotonic() < deadline:
            consumer.commit()
            time.sleep(0.05)
        assert calls == [(None, {(topic, 0): [(0, 4), (8, 19)]})]
        consumer.acknowledge_all(REJECT)
    assert calls[1:] == [(None, {(topic, 0): [(5, 7)]})]


def test_a_record_that_cannot_be_deserialized(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 6)

    def deserialize(value: bytes) -> int:
        number = int(value[1:])
        if number in (2, 3):
            raise ValueError(f"no {number}")
        return number

    with explicit(kind, brokers, topic, group, value_deserializer=deserialize) as consumer:
        assert values(read(consumer, 2)) == [0, 1]
        consumer.acknowledge_all()
        with pytest.raises(errors.SerializationError, match="no 2"):
            consumer.poll(timeout=5)
        consumer.acknowledge_offsets(topic, 0, 2, type=REJECT)
        with pytest.raises(errors.SerializationError, match="no 3"):
            consumer.poll(timeout=5)
        assert values(read(consumer, 2)) == [4, 5]
        consumer.acknowledge_all()
        with pytest.raises(errors.SerializationError, match="no 3"):
            consumer.poll(timeout=5)  # Released, so delivered again.


def test_an_expired_lock(brokers: Brokers, kind: Any) -> None:
    """After its lock expired, a record goes to another member; a late accept is an error."""
    if brokers.is_mock:
        with MockCluster(share_lock_duration=1.0) as cluster:
            check_expired_lock(Brokers(cluster), kind, new_share_group(Brokers(cluster)))
    else:
        group = new_share_group(brokers, share_record_lock_duration_ms="1000")
        check_expired_lock(brokers, kind, group)


def check_expired_lock(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 4)
    with (
        explicit(kind, brokers, topic, group) as slow,
        explicit(kind, brokers, topic, group) as other,
    ):
        assert len(read(slow, 4)) == 4
        assert slow.acquisition_lock_timeout == 1.0
        again = read(other, 4)
        assert {record.delivery_count for record in again} == {2}
        slow.acknowledge_all()
        (late,) = slow.commit().values()
        assert "lock expired" in str(late)
        other.acknowledge_all()
        assert other.commit() == {(topic, 0): None}
        assert slow.poll(timeout=0.5) == []


def test_wakeup_and_close(brokers: Brokers, kind: Any, group: str) -> None:
    topic = fill(brokers, 0)
    consumer = kind(brokers.bootstrap, topics=[topic], group_id=group)
    assert consumer.subscription() == [topic]
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.poll(timeout=5)
    assert consumer.poll(timeout=0.2) == []
    consumer.unsubscribe()
    with pytest.raises(errors.StateError, match="subscribe"):
        consumer.poll(timeout=0.2)
    assert not consumer.closed
    consumer.close()
    assert consumer.closed
    consumer.close()
    if isinstance(consumer, ottla.ShareConsumer):  # The other one's loop is closed, too.
        with pytest.raises(errors.ClosedError):
            consumer.poll()


def test_a_poll_without_records_does_not_spin(brokers: Brokers, kind: Any, group: str) -> None:
    """The poll and the fetching task once woke each other without end: a CPU for each consumer."""
    topic = fill(brokers, 1)
    with kind(brokers.bootstrap, topics=[topic], group_id=group) as consumer:
        read(consumer, 1)
        started = time.process_time()
        assert consumer.poll(timeout=1.5) == []
        assert time.process_time() - started < 0.7


def test_bad_input(brokers: Brokers, kind: Any) -> None:
    with pytest.raises(errors.ConfigError, match=r"group\.id"):
        kind(brokers.bootstrap)
    with pytest.raises(errors.ConfigError, match="implicit"):
        kind(brokers.bootstrap, group_id="g", share_acknowledgement_mode="maybe")
    with pytest.raises(TypeError, match="expected a list of topics"):
        kind(brokers.bootstrap, group_id="g", topics="t")
