"""Consumers without a group, blocking and asyncio: returned records and positions."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin

import pyarrow as pa
import pytest

import ottla
from ottla import deserializers, errors
from ottla.testing import Fault, MockCluster
from tests.support.consumers import KINDS, TIMEOUT, positions_of, read

T = "orders"
ALL = [(T, 0), (T, 1), (T, 2)]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The consumer class: blocking or asyncio."""
    return KINDS[request.param]


@pytest.fixture
def consumer(kind: Any, mock_cluster: MockCluster, topic: str) -> Iterator[Any]:
    """A consumer assigned to three partitions, from their beginning."""
    assert topic == T
    # Switching from records to columns waits for the fetch in flight.
    config = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20}
    with kind(mock_cluster.bootstrap, **config) as consumer:
        consumer.assign(ALL)
        yield consumer


def fill(cluster: MockCluster, count: int, partitions: int = 3, **config: Any) -> None:
    """Write `count` records to each partition, with their offsets as values."""
    with ottla.Producer(cluster.bootstrap, **config) as producer:
        for partition in range(partitions):
            start = cluster.end_offset(T, partition)
            for offset in range(start, start + count):
                producer.send(T, str(offset), f"k{offset}", partition=partition)
            producer.flush()


def expected(partition: int, offsets: range) -> list[tuple[int, int]]:
    return [(partition, offset) for offset in offsets]


def by_partition(seen: list[tuple[int, int]]) -> dict[int, list[int]]:
    return {p: [offset for at, offset in seen if at == p] for p, _ in seen}


def rows(batch: ottla.RecordBatch) -> list[tuple[int, int]]:
    table = pa.record_batch(batch)
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


def test_a_record_has_every_field_that_was_sent(mock_cluster: MockCluster, consumer: Any) -> None:
    headers = [("h", b"1"), ("h", None), ("ö", b"")]
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(T, b"value", b"key", headers=headers, timestamp=17, partition=1)
        producer.send(T, None, b"gone", timestamp=18, partition=1)
        producer.send(T, b"", timestamp=19, partition=1)
    first, tombstone, empty = read(consumer, 3)
    assert first == ottla.Record(
        T, 1, 0, timestamp=17, key=b"key", value=b"value", headers=headers, leader_epoch=0
    )
    assert (first.topic, first.partition, first.offset) == (T, 1, 0)
    assert (first.timestamp, first.timestamp_type, first.leader_epoch) == (17, 0, 0)
    assert first.headers == tuple(headers)
    assert (tombstone.key, tombstone.value, tombstone.headers) == (b"gone", None, ())
    assert (empty.key, empty.value) == (None, b"")
    assert first != tombstone
    assert first != "a record"
    assert len({first, tombstone, empty, pickle.loads(pickle.dumps(first))}) == 3
    assert pickle.loads(pickle.dumps(first)) == first
    assert repr(tombstone).startswith("Record(topic='orders', partition=1, offset=1, timestamp=18")
    with pytest.raises(AttributeError):
        first.offset = 5  # type: ignore[misc]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_polls_return_each_record_once_and_in_order(
    mock_cluster: MockCluster, consumer: Any, codec: str
) -> None:
    fill(mock_cluster, 200, compression_type=codec)
    seen: list[ottla.Record] = []
    deadline = time.monotonic() + TIMEOUT
    while len(seen) < 600 and time.monotonic() < deadline:
        records = consumer.poll(timeout=1, max_records=7)
        assert len(records) <= 7
        seen += records
        for partition in {record.partition for record in records}:
            last = max(r.offset for r in records if r.partition == partition)
            assert consumer.position(T, partition) == last + 1
    assert by_partition(positions_of(seen)) == {p: list(range(200)) for p in range(3)}
    assert all(record.value == str(record.offset).encode() for record in seen)
    assert consumer.poll(timeout=0) == []
    assert consumer.lag() == dict.fromkeys(ALL, 0)


def test_iterating_moves_the_position_record_by_record(
    mock_cluster: MockCluster, consumer: Any
) -> None:
    fill(mock_cluster, 100, 1)
    for count, record in enumerate(consumer):
        assert record.offset == count
        assert consumer.position(T, 0) == count + 1
        assert consumer.lag()[T, 0] == 99 - count
        if count == 99:
            break


def test_seeks_and_pauses_take_effect_on_the_next_record(
    mock_cluster: MockCluster, consumer: Any
) -> None:
    fill(mock_cluster, 50)
    assert next(consumer).offset == 0
    consumer.seek(T, 0, 40)
    consumer.pause((T, 1), (T, 2))
    assert consumer.paused() == [(T, 1), (T, 2)]
    assert [next(consumer).offset for _ in range(10)] == list(range(40, 50))
    assert consumer.poll(timeout=0.2) == []
    consumer.resume()
    assert consumer.paused() == []
    # No record of the other partitions is lost or repeated, except those returned before the pause.
    rest = by_partition(positions_of(read(consumer, 99)))
    assert sorted(rest) == [1, 2]
    assert all(offsets[-1] == 49 for offsets in rest.values())
    assert all(offsets == list(range(offsets[0], 50)) for offsets in rest.values())
    consumer.seek_to_beginning((T, 0))
    assert [record.offset for record in read(consumer, 50)] == list(range(50))
    consumer.seek_to_beginning()
    consumer.seek_to_end()
    assert [consumer.position(*partition) for partition in ALL] == [50, 50, 50]
    assert consumer.poll(timeout=0.2) == []


def test_arrow_batches_hold_the_same_records(mock_cluster: MockCluster, consumer: Any) -> None:
    fill(mock_cluster, 500)
    seen: list[tuple[int, int]] = []
    deadline = time.monotonic() + TIMEOUT
    while len(seen) < 1500 and time.monotonic() < deadline:
        batch = consumer.poll_arrow(timeout=1, max_rows=130)
        if batch is not None:
            assert 0 < len(batch) <= 130
            found = rows(batch)
            seen += found
            for partition in {p for p, _ in found}:
                last = max(offset for p, offset in found if p == partition)
                assert consumer.position(T, partition) == last + 1
    assert by_partition(seen) == {p: list(range(500)) for p in range(3)}
    assert consumer.poll_arrow(timeout=0) is None
    consumer.seek_to_beginning()
    batch = consumer.poll_arrow(timeout=TIMEOUT, columns=["offset", "value"])
    assert batch.column_names == ["offset", "value"]
    consumer.seek_to_beginning()
    batch = consumer.poll_arrow(timeout=TIMEOUT, include_headers=True)
    assert batch.column_names[-1] == "headers"
    for wrong in (["nonsense"], []):
        with pytest.raises(errors.ConfigError):
            consumer.poll_arrow(columns=wrong)


def test_poll_poll_arrow_and_iteration_can_be_mixed(
    mock_cluster: MockCluster, consumer: Any
) -> None:
    fill(mock_cluster, 400)
    seen: list[tuple[int, int]] = []
    deadline = time.monotonic() + TIMEOUT
    for step in range(10_000):
        if len(seen) == 1200:
            break
        assert time.monotonic() < deadline, len(seen)
        if step % 3 == 0:
            seen += positions_of(consumer.poll(timeout=1, max_records=31))
        elif step % 3 == 1:
            batch = consumer.poll_arrow(timeout=1, max_rows=47)
            seen += [] if batch is None else rows(batch)
        else:
            seen += positions_of([next(consumer) for _ in range(min(5, 1200 - len(seen)))])
    assert by_partition(seen) == {p: list(range(400)) for p in range(3)}


class Upper:
    """A deserializer that uses the topic and the headers as well."""

    def deserialize(self, topic: str, data: bytes, headers: tuple[Any, ...]) -> str:
        return f"{topic}/{data.decode().upper()}/{len(headers)}"


def test_deserializers_skip_null(kind: Any, mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        producer.send(topic, json.dumps({"n": 1}), "key", headers=[("h", b"")], partition=0)
        producer.send(topic, None, None, partition=0)
    with kind(
        mock_cluster.bootstrap,
        auto_offset_reset="earliest",
        key_deserializer=Upper(),
        value_deserializer=deserializers.json,
    ) as consumer:
        consumer.assign([(topic, 0)])
        first, second = read(consumer, 2)
        assert (first.key, first.value) == ("orders/KEY/1", {"n": 1})
        assert (second.key, second.value) == (None, None)
        consumer.seek_to_beginning()
        # Arrow columns hold the raw bytes.
        table = pa.record_batch(consumer.poll_arrow(timeout=TIMEOUT))
        assert table["value"].to_pylist() == [b'{"n": 1}', None]
    with pytest.raises(errors.ConfigError, match="value_deserializer is of type int"):
        kind(mock_cluster.bootstrap, value_deserializer=5)


@pytest.mark.parametrize("generic", [ottla.Record, ottla.Consumer, ottla.AsyncConsumer])
def test_records_and_consumers_are_generic(generic: Any) -> None:
    assert get_args(generic[str, int]) == (str, int)
    assert get_origin(generic[str, int]) is generic
    made = ottla.Record[str, int]("t", 0, 5, key="a", value=5)
    assert type(made) is ottla.Record


def test_a_deserialization_error_does_not_move_the_position(
    kind: Any, mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for value in (b"0", b"1", b"\xff", b"3"):
            producer.send(topic, value, partition=0)
    with kind(
        mock_cluster.bootstrap, auto_offset_reset="earliest", value_deserializer=deserializers.str
    ) as consumer:
        consumer.assign([(topic, 0)])
        assert [record.value for record in read(consumer, 2)] == ["0", "1"]
        way: Callable[[], object]
        for way in (lambda: consumer.poll(timeout=TIMEOUT), lambda: next(consumer)):
            with pytest.raises(errors.SerializationError) as raised:
                way()
            context = {"topic": topic, "partition": 0, "offset": 2, "field": "value"}
            assert raised.value.context == context
            assert isinstance(raised.value.__cause__, UnicodeDecodeError)
            assert consumer.position(topic, 0) == 2
        consumer.seek(topic, 0, 3)
        assert [record.value for record in read(consumer, 1)] == ["3"]


def test_offset_queries(mock_cluster: MockCluster, consumer: Any) -> None:
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for n in range(10):
            producer.send(T, b"v", timestamp=1000 + n, partition=0)
    assert consumer.beginning_offsets() == dict.fromkeys(ALL, 0)
    assert consumer.end_offsets((T, 0), (T, 1)) == {(T, 0): 10, (T, 1): 0}
    found = consumer.offsets_for_times({(T, 0): 1004, (T, 1): 0})
    assert found[T, 0].offset == 4
    assert found[T, 0].timestamp == 1004
    assert found[T, 1] is None


def test_auto_offset_reset_none_raises(kind: Any, mock_cluster: MockCluster, topic: str) -> None:
    fill(mock_cluster, 10, 1)
    with kind(mock_cluster.bootstrap, auto_offset_reset="none") as consumer:
        consumer.assign([(topic, 0)])
        for _ in range(2):
            with pytest.raises(errors.OffsetError) as raised:
                consumer.poll(timeout=TIMEOUT)
            assert raised.value.context == {"topic": topic, "partition": 0}
        consumer.seek(topic, 0, 7)
        assert [record.offset for record in read(consumer, 3)] == [7, 8, 9]
        consumer.seek(topic, 0, 99)
        with pytest.raises(errors.OffsetError, match="99 is not in the log"):
            consumer.poll(timeout=TIMEOUT)


def test_a_recreated_topic_is_called_that(kind: Any, mock_cluster: MockCluster, topic: str) -> None:
    """Regression: it was reported as a position that is not in the log."""
    fill(mock_cluster, 10, 1)
    config = {"auto.offset.reset": "none", "metadata.max.age.ms": 100}
    with kind(mock_cluster.bootstrap, config) as consumer:
        consumer.assign([(topic, 0)])
        consumer.seek_to_beginning((topic, 0))
        assert len(read(consumer, 10)) == 10
        mock_cluster.delete_topic(topic)
        mock_cluster.create_topic(topic, partitions=2)
        with pytest.raises(errors.OffsetError, match="the topic was deleted and recreated"):
            consumer.poll(timeout=TIMEOUT)


def test_invalid_calls_raise(kind: Any, mock_cluster: MockCluster, consumer: Any) -> None:
    call: Callable[[], object]
    for call in (
        lambda: consumer.seek("other", 0, 5),
        lambda: consumer.pause((T, 7)),
        lambda: consumer.seek_to_end((T, 7)),
        lambda: consumer.position("other", 0),
    ):
        with pytest.raises(errors.StateError):
            call()
    for call in (
        lambda: consumer.commit(),
        lambda: consumer.committed(),
        lambda: consumer.group_metadata(),
        lambda: consumer.seek(T, 0, -1),
        lambda: consumer.poll(timeout=-1),
        lambda: consumer.subscribe([]),
        lambda: consumer.subscribe([T], pattern="x"),
        lambda: kind(mock_cluster.bootstrap, no_such_key=1),
    ):
        with pytest.raises(errors.ConfigError):
            call()
    for wrong in (T, [T], [(T,)], [(0, T)]):
        with pytest.raises(TypeError, match=r"expected \(topic, partition\)"):
            consumer.assign(wrong)
    for call in (
        lambda: consumer.subscribe(T),
        lambda: consumer.subscribe([T], on_lost=5),
        lambda: consumer.pause([(T, 0)]),
    ):
        with pytest.raises(TypeError):
            call()
    with kind(mock_cluster.bootstrap, group_id="g") as other:
        with pytest.raises(errors.StateError, match="subscribe to topics or assign"):
            other.poll()
        other.subscribe([T])
        assert other.subscription() == [T]
        with pytest.raises(errors.StateError, match=r"call unsubscribe\(\)"):
            other.assign(ALL)
        other.unsubscribe()
        assert other.subscription() == []
        other.assign(ALL)
        with pytest.raises(errors.StateError, match=r"call unsubscribe\(\)"):
            other.subscribe([T])


def test_reassigning_keeps_positions(mock_cluster: MockCluster, consumer: Any) -> None:
    fill(mock_cluster, 10)
    read(consumer, 30)
    consumer.assign([(T, 1)])
    assert consumer.assignment() == [(T, 1)]
    assert consumer.position(T, 1) == 10
    consumer.assign([(T, 0), (T, 1)])
    assert positions_of(read(consumer, 10)) == expected(0, range(10))
    consumer.unsubscribe()
    assert consumer.assignment() == []


def test_corrupt_batches_are_fetched_again(
    kind: Any, mock_cluster: MockCluster, topic: str
) -> None:
    fill(mock_cluster, 100, 1)
    fault = mock_cluster.inject(Fault.corrupt_records(), api="Fetch", times=2)
    with kind(mock_cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        assert positions_of(read(consumer, 100)) == expected(0, range(100))
        assert mock_cluster.fault_hits(fault) == 2
