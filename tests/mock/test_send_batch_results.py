"""Results of Producer.send_batch: rows that fail alone, offsets of the others, and waits for buffer
space or for all results."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows

BIG = b"x" * 2_000_000
PARTIAL: dict[str, Any] = {
    "lists": {"values": ["a", BIG, "c", "d"], "partitions": [0, 0, 7, None]},
    "arrow": {
        "values": pa.table(
            {
                "value": pa.array([b"a", BIG, b"c", b"d"], pa.binary()),
                "partition": pa.array([0, 0, 7, None], pa.int32()),
            }
        )
    },
}


@pytest.mark.parametrize("form", PARTIAL)
def test_a_bad_record_fails_alone(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, form: str
) -> None:
    sent = producer.send_batch(single, **PARTIAL[form])
    assert len(sent) == 4
    with pytest.raises(
        errors.RecordTooLargeError,
        match=r"2 of 4 records failed, the first at index 1.*max.request",
    ):
        sent.result(timeout=30)
    (first, second) = sent.errors(timeout=60)
    assert first[:2] == (1, 1)
    assert second[:2] == (2, 1)
    assert isinstance(first[2], errors.RecordTooLargeError)
    assert isinstance(second[2], errors.UnknownTopicError)
    rows = read_rows(ottla.scan(single, mock_cluster.bootstrap))
    assert [row["value"] for row in rows] == [b"a", b"d"]


def test_a_time_before_1970_fails_alone(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    """Regression: a column's negative timestamp was written.

    ``send`` rejects those, and no lookup by time finds such a record.
    """
    times = pa.array([-(10**12), 10**12, -1], pa.timestamp("ms", "UTC"))
    sent = producer.send_batch(single, pa.table({"value": ["a", "b", "c"], "timestamp": times}))
    failures = [(index, count, str(error)) for index, count, error in sent.errors(timeout=60)]
    assert [(index, count) for index, count, _ in failures] == [(0, 1), (2, 1)]
    assert "timestamp is -1000000000000: expected milliseconds since 1970" in failures[0][2]
    assert mock_cluster.end_offset(single, 0) == 1


FORMS: dict[str, Any] = {
    "lists": {"values": ["a", "b"], "partitions": [2, None]},
    "arrow": {"values": pa.table({"value": ["a"], "partition": pa.array([2], pa.int32())})},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_partition_that_was_just_added_is_written_to(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, form: str
) -> None:
    producer.send_batch(single, ["first"]).result(timeout=30)
    admin = AdminClient({"bootstrap.servers": mock_cluster.bootstrap})
    admin.create_partitions([NewPartitions(single, 3)])[single].result(30)
    assert producer.send_batch(single, **FORMS[form]).errors(timeout=30) == []
    assert mock_cluster.end_offset(single, 2) == 1


def test_written_reports_partition_ranges(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    producer.send_batch(topic, ["x"] * 7, partitions=[0, 0, 0, 1, 1, 2, 2]).result(timeout=30)
    # Rows that alternate between partitions still give one entry per partition.
    partitions = [0, 1, 2, 0, 1, 0]
    sent = producer.send_batch(topic, ["y"] * 6, partitions=partitions)
    assert sorted(sent.written(timeout=10)) == [(0, 3, 3), (1, 2, 2), (2, 2, 1)]
    assert producer.send_batch(topic, []).written(timeout=10) == []
    with ottla.Producer(mock_cluster.bootstrap, acks=0, enable_idempotence=False) as unsure:
        written = unsure.send_batch(topic, ["z"] * 3, partitions=[1, 0, 1]).written(timeout=10)
    assert sorted(written) == [(0, None, 1), (1, None, 2)]


def test_written_raises_if_some_rows_failed(producer: ottla.Producer, single: str) -> None:
    sent = producer.send_batch(single, ["a", "x" * 2_000_000, "b"])
    with pytest.raises(
        errors.RecordTooLargeError, match="1 of 3 records failed, the first at index 1"
    ):
        sent.written(timeout=10)


def test_partial_failure_reports_indices(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", topic=topic, partition=1)
    partitions = [0] * 5 + [1] * 3 + [2] * 2 + [1] * 4
    sent = producer.send_batch(topic, ["x"] * 14, partitions=partitions)
    failures = sent.errors(timeout=60)
    failed = [index for first, count, _ in failures for index in range(first, first + count)]
    assert failed == [5, 6, 7, 10, 11, 12, 13]
    for _, _, error in failures:
        assert isinstance(error, errors.BrokerError)
        assert error.context["partition"] == 1
    with pytest.raises(errors.BrokerError, match="7 of 14 records failed, the first at index 5"):
        sent.result(timeout=30)
    assert mock_cluster.end_offset(topic, 0) == 5
    assert mock_cluster.end_offset(topic, 2) == 2


def test_partitions_and_offsets_of_rows(producer: ottla.Producer, topic: str) -> None:
    producer.send_batch(topic, ["before"] * 5, partitions=[0, 0, 1, 2, 2]).result(timeout=30)
    # The fourth is rejected at once, the others are in three batches.
    sent = producer.send_batch(topic, ["x"] * 6, partitions=[0, 1, 0, 7, 2, 0])
    assert pa.array(sent.partitions()).to_pylist() == [0, 1, 0, None, 2, 0]
    offsets = pa.array(sent.offsets(timeout=10))
    assert offsets.type == pa.int64()
    assert offsets.to_pylist() == [2, 1, 3, None, 2, 4]
    [(first, count, error)] = sent.errors()
    assert (first, count) == (3, 1)
    assert isinstance(error, errors.UnknownTopicError)
    assert error.context == {"topic": topic, "partition": 7, "index": 3}
    with pytest.raises(errors.UnknownTopicError) as raised:
        sent.result()
    assert raised.value.context["index"] == 3


def test_rows_alternating_between_partitions_keep_offsets_and_failures(
    mock_cluster: MockCluster, topic: str
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, batch_size=2000, linger_ms=20) as producer:
        # Many batches per partition, with unsendable rows in between.
        turns = [i * 7 % 3 if i % 50 else 7 for i in range(3000)]
        values = [b"%d" % i for i in range(3000)]
        columns = {"value": pa.array(values), "partition": pa.array(turns, pa.int32())}
        sent = producer.send_batch(topic, pa.record_batch(columns))
        rejected = [(first, many) for first, many, _ in sent.errors(timeout=60)]
        assert rejected == [(i, 1) for i in range(0, 3000, 50)]
        chosen = pa.array(sent.partitions()).to_pylist()
        assert chosen == [None if i % 50 == 0 else turns[i] for i in range(3000)]
        offsets = pa.array(sent.offsets()).to_pylist()
    rows = read_rows(ottla.scan(topic, mock_cluster.bootstrap))
    there = {row["value"]: (row["partition"], row["offset"]) for row in rows}
    assert len(rows) == 2940
    for value, partition, offset in zip(values, chosen, offsets, strict=True):
        assert there.get(value, (None, None)) == (partition, offset)


def test_unknown_offsets_are_null(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, acks=0, enable_idempotence=False) as producer:
        sent = producer.send_batch(single, ["x"] * 3)
        assert pa.array(sent.offsets(timeout=10)).to_pylist() == [None] * 3
        assert pa.array(sent.partitions()).to_pylist() == [0] * 3


@pytest.mark.parametrize("delivered", [True, False])
def test_errors_carry_the_last_broker_error_and_maybe_done(
    mock_cluster: MockCluster, topic: str, delivered: bool
) -> None:
    """The error has partition, index, the last broker error and ``maybe_done``."""
    code = "NOT_ENOUGH_REPLICAS_AFTER_APPEND" if delivered else "NOT_ENOUGH_REPLICAS"
    with ottla.Producer(
        mock_cluster.bootstrap, linger_ms=0, delivery_timeout_ms=3000, request_timeout_ms=2500
    ) as producer:
        producer.send_batch(topic, ["x"] * 3, partitions=[0, 1, 2]).result(timeout=30)
        mock_cluster.inject(Fault.error(code), api="Produce", topic=topic, partition=1)
        sent = producer.send_batch(topic, ["a", "b", "c", "d"], partitions=[0, 1, 2, 1])
        failed = sent.errors(timeout=60)
        assert [(first, count) for first, count, _ in failed] == [(1, 1), (3, 1)]
        for first, _, error in failed:
            assert isinstance(error, errors.TimeoutError)
            assert error.name == code
            assert error.maybe_done is delivered
            assert {name: error.context[name] for name in ("topic", "partition", "index")} == {
                "topic": topic,
                "partition": 1,
                "index": first,
            }
            assert "broker" in error.context
        assert pa.array(sent.offsets()).to_pylist() == [1, None, 1, None]
        mock_cluster.clear_faults()


@pytest.mark.parametrize("arrow", [False, True])
def test_full_buffer_blocks_until_space_is_free(
    mock_cluster: MockCluster, single: str, arrow: bool
) -> None:
    config = {"buffer.memory": 50_000, "batch.size": 10_000, "linger.ms": 0}
    values = [f"{i:06}" * 20 for i in range(5_000)]
    with ottla.Producer(mock_cluster.bootstrap, config) as producer:
        sent = producer.send_batch(single, pa.array(values) if arrow else values)
        assert producer.buffered_bytes <= 50_000
        assert sent.result(timeout=60) == 5_000
    rows = read_rows(ottla.scan(single, mock_cluster.bootstrap))
    assert [row["value"].decode() for row in rows] == values


@pytest.mark.parametrize("arrow", [False, True])
def test_full_buffer_times_out(mock_cluster: MockCluster, single: str, arrow: bool) -> None:
    client = ottla.Client(mock_cluster.bootstrap, buffer_memory=20_000, max_block_ms=200)
    # Look up the topic first, or the lookup would use up the timeout.
    client.cluster([single])
    producer = ottla.Producer(client)
    producer.send(single, "first").result(timeout=30)
    mock_cluster.inject(Fault.silence(), api="Produce")
    values = ["x" * 1000] * 100
    with pytest.raises(
        errors.TimeoutError, match=r"at index [1-9]\d*; earlier records may still be pending"
    ):
        producer.send_batch(single, pa.array(values) if arrow else values)
    with pytest.raises(
        errors.TimeoutError, match="at index 0; no record was accepted"
    ) as none_accepted:
        producer.send_batch(single, pa.array(values) if arrow else values)
    assert none_accepted.value.context["accepted"] == 0
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0)
    client.close()


@pytest.mark.parametrize("kind", ["lists", "arrow", "serializer", "interceptors", "asyncio"])
def test_a_batch_that_times_out_half_way_can_be_resumed(
    mock_cluster: MockCluster, single: str, kind: str
) -> None:
    """Regression: the earlier rows' delivery was lost, and the error suggested resending them."""
    client = ottla.Client(mock_cluster.bootstrap, buffer_memory=20_000, max_block_ms=500)
    client.cluster([single])
    values: list[Any] = [f"{n:04}" + "x" * 1000 for n in range(60)]

    class Interceptor:
        def on_send(self, record: Any) -> Any:
            return record

        def on_acknowledgement(self, metadata: Any, exception: Any) -> None:
            pass

        def close(self) -> None:
            pass

    hooks: dict[str, Any] = {"interceptors": [Interceptor()]} if kind == "interceptors" else {}
    if kind == "serializer":
        hooks = {"value_serializer": str.encode}
    slow = mock_cluster.inject(Fault.delay(3.0), api="Produce", times=1)

    def check(raised: pytest.ExceptionInfo[errors.TimeoutError]) -> int:
        error = raised.value
        index: int = error.context["index"]
        assert 0 < index < 60
        assert error.context["accepted"] == index == len(error.delivery or ())
        assert (error.retriable, error.maybe_done) == (False, True)
        return index

    if kind == "asyncio":

        async def work() -> None:
            async with ottla.AsyncProducer(
                mock_cluster.bootstrap,
                buffer_memory=20_000,
                max_block_ms=500,
            ) as producer:
                with pytest.raises(errors.TimeoutError) as raised:
                    await producer.send_batch(single, values)
                index = check(raised)
                first = raised.value.delivery
                assert isinstance(first, ottla.AsyncBatchDelivery)
                assert await first.result(timeout=60) == index
                for value in values[index:]:
                    await producer.send(single, value)

        asyncio.run(work())
    else:
        data = pa.array(values) if kind == "arrow" else values
        with ottla.Producer(client, **hooks) as producer:
            with pytest.raises(errors.TimeoutError) as raised:
                producer.send_batch(single, data)
            index = check(raised)
            first = raised.value.delivery
            assert isinstance(first, ottla.BatchDelivery)
            assert first.result(timeout=60) == index
            for value in values[index:]:
                producer.send(single, value).result(timeout=60)
    assert mock_cluster.fault_hits(slow) == 1
    client.close()
    with ottla.Client(mock_cluster.bootstrap) as reader:
        rows = [
            row[0].decode()
            for batch in reader.scan([(single, 0, 0, 60)], columns=["value"])
            for row in batch.rows()
        ]
    assert rows == values


def test_batch_result_times_out(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=60_000) as producer:
        sent = producer.send_batch(single, ["a", "b"])
        assert not sent.done()
        with pytest.raises(errors.TimeoutError, match="still pending"):
            sent.result(timeout=0.1)
        with pytest.raises(errors.TimeoutError):
            sent.errors(timeout=0)
        producer.flush(timeout=60)
        assert sent.result() == 2
