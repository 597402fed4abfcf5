"""Producer.send: accepted arguments, deliveries and errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import Fault, MockCluster
from tests.support.arrow import read_rows
from tests.support.kafka_admin import wait_until


def rows(cluster: MockCluster, topic: str) -> list[dict[str, Any]]:
    return read_rows(ottla.scan(topic, cluster.bootstrap, include_headers=True))


def fill(producer: ottla.Producer, topic: str) -> None:
    for _ in range(100):
        producer.send(topic, b"x" * 1000)


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        (b"bytes", b"bytes"),
        ("täxt", "täxt".encode()),
        (bytearray(b"array"), b"array"),
        (memoryview(b"xviewx")[1:5], b"view"),
        (memoryview(b"abcdef")[::2], b"ace"),
        (b"", b""),
        ("", b""),
        (None, None),
    ],
)
def test_values_and_keys(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, argument: Any, written: Any
) -> None:
    producer.send(single, argument, argument).result(timeout=30)
    producer.send(single, value=argument).result(timeout=30)
    first, second = rows(mock_cluster, single)
    assert (first["key"], first["value"]) == (written, written)
    assert (second["key"], second["value"]) == (None, written)


def test_buffers_are_copied_by_send(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    value = bytearray(b"before")
    sent = producer.send(single, value)
    value[:] = b"after!"
    sent.result(timeout=30)
    assert rows(mock_cluster, single)[0]["value"] == b"before"


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ([("a", b"1")], [("a", b"1")]),
        ([("a", b"1"), ("b", "zwei"), ("a", None)], [("a", b"1"), ("b", b"zwei"), ("a", None)]),
        ([(b"raw", bytearray(b"x"))], [("raw", b"x")]),
        ({"x": b"1", "y": None}, [("x", b"1"), ("y", None)]),
        ((("", b""),), [("", b"")]),
        ([], None),
        (None, None),
    ],
)
def test_headers(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str, argument: Any, written: Any
) -> None:
    producer.send(single, "v", headers=argument).result(timeout=30)
    found = rows(mock_cluster, single)[0]["headers"]
    assert (found and [(h["key"], h["value"]) for h in found]) == written


def test_timestamps(mock_cluster: MockCluster, producer: ottla.Producer, single: str) -> None:
    aware = datetime(2024, 2, 29, 12, 30, 15, 123_000, tzinfo=timezone.utc)
    elsewhere = aware.astimezone(timezone(timedelta(hours=5)))
    before = int(time.time() * 1000)
    timestamps = [
        producer.send(single, "v", timestamp=argument).result(timeout=30).timestamp
        for argument in (1_234, 0, aware, elsewhere, None)
    ]
    millis = int(aware.timestamp() * 1000)
    assert timestamps[:4] == [1_234, 0, millis, millis]
    assert before <= timestamps[4] <= before + 30_000
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    read = [
        (row["timestamp"] - epoch) / timedelta(milliseconds=1) for row in rows(mock_cluster, single)
    ]
    assert read == timestamps


@pytest.mark.parametrize(
    ("field", "wrong", "kind", "message"),
    [
        ("value", 5, TypeError, "value is of type int"),
        ("value", ["x"], TypeError, "value is of type list"),
        ("key", 1.5, TypeError, "key is of type float"),
        ("headers", 5, TypeError, "int"),
        ("headers", ["no pair"], TypeError, "headers: expected pairs"),
        ("headers", [(None, b"")], TypeError, "header's name is None"),
        ("headers", [("a", 5)], TypeError, "header's value is of type int"),
        ("timestamp", "now", TypeError, "timestamp is of type str"),
        ("timestamp", 1.5, TypeError, "timestamp is of type float"),
        ("timestamp", -1, errors.ConfigError, "timestamp is -1"),
        ("timestamp", 1 << 80, errors.ConfigError, "timestamp is"),
        ("timestamp", datetime(1960, 1, 1, tzinfo=timezone.utc), errors.ConfigError, "timestamp"),
        ("partition", 3, errors.UnknownTopicError, "partition 3 does not exist: the topic has 3"),
        ("partition", -1, errors.UnknownTopicError, "partition -1 does not exist"),
        ("partition", "0", TypeError, "partition"),
    ],
)
def test_invalid_arguments_raise(
    producer: ottla.Producer, topic: str, field: str, wrong: Any, kind: type, message: str
) -> None:
    with pytest.raises(kind, match=message):
        producer.send(topic, **{field: wrong})
    assert producer.buffered_bytes == 0


def test_explicit_partition_and_metadata(producer: ottla.Producer, topic: str) -> None:
    for offset in range(3):
        sent = producer.send(topic, "v", b"k", partition=2, timestamp=5)
        assert (sent.topic, sent.partition) == (topic, 2)
        metadata = sent.result(timeout=30)
        assert (metadata.topic, metadata.partition, metadata.offset, metadata.timestamp) == (
            topic,
            2,
            offset,
            5,
        )


def test_keys_choose_the_partition(producer: ottla.Producer, topic: str) -> None:
    for key in ("a", b"b", "ß", bytearray(b"\x00\xff"), b""):
        sent = producer.send(topic, "v", key)
        assert sent.partition == ottla.partition_for_key(key, 3)
        sent.result(timeout=30)


def test_records_without_keys_are_spread(producer: ottla.Producer, topic: str) -> None:
    used = {producer.send(topic, b"x" * 5000).partition for _ in range(200)}
    producer.flush(timeout=60)
    assert used == {0, 1, 2}


def test_delivery_before_and_after_completion(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=60_000) as producer:
        sent = producer.send(single, "v")
        assert not sent.done()
        assert "pending" in repr(sent)
        started = time.monotonic()
        with pytest.raises(errors.TimeoutError, match="still pending"):
            sent.result(timeout=0.1)
        with pytest.raises(TimeoutError):
            sent.exception(timeout=0.0)
        assert time.monotonic() - started < 20
        producer.flush(timeout=60)
        assert sent.done()
        assert sent.exception() is None
        assert sent.result().offset == 0
        assert sent.result(timeout=0).offset == 0


def test_failures_are_raised_by_result_and_returned_by_exception(
    mock_cluster: MockCluster, producer: ottla.Producer, single: str
) -> None:
    mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce")
    sent = producer.send(single, "v")
    producer.flush(timeout=60)  # flush does not raise failures; deliveries do
    error = sent.exception(timeout=30)
    assert isinstance(error, errors.BrokerError)
    assert (error.name, error.retriable, error.maybe_done) == ("INVALID_RECORD", False, False)
    assert error.context == {
        "topic": single,
        "partition": 0,
        "broker": mock_cluster.leader(single, 0),
    }
    with pytest.raises(errors.BrokerError, match="INVALID_RECORD"):
        sent.result(timeout=30)
    assert "INVALID_RECORD" in repr(sent)
    assert sent.done()


def test_acks_0_has_no_offset(mock_cluster: MockCluster, single: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, acks=0, linger_ms=0) as producer:
        assert producer.send(single, "v").result(timeout=30).offset is None
        # There is no response to wait for.
        wait_until(lambda: mock_cluster.end_offset(single, 0) == 1, lambda: "not written", 60)
    assert [row["value"] for row in rows(mock_cluster, single)] == [b"v"]


def test_flush_close_and_with_block(mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, linger_ms=60_000) as producer:
        deliveries = [producer.send(topic, str(i)) for i in range(100)]
        assert producer.buffered_bytes > 0
        producer.flush(timeout=60)
        assert producer.buffered_bytes == 0
        assert all(delivery.done() for delivery in deliveries)
        last = producer.send(topic, "last")
    assert last.done()
    assert last.exception() is None
    assert len(rows(mock_cluster, topic)) == 101
    producer.close()  # a second close has no effect
    with pytest.raises(errors.ClosedError, match="this producer was closed"):
        producer.send(topic, "late")


def test_close_timeout_fails_unsent_records(mock_cluster: MockCluster, single: str) -> None:
    producer = ottla.Producer(mock_cluster.bootstrap, linger_ms=0)
    producer.send(single, "first").result(timeout=30)
    mock_cluster.inject(Fault.silence(), api="Produce")
    under_way = producer.send(single, "second")
    waiting = producer.send(single, "third")
    started = time.monotonic()
    with pytest.raises(errors.TimeoutError, match=r"close: .* still unacknowledged after 300 ms"):
        producer.close(timeout=0.3)
    assert time.monotonic() - started < 20
    for delivery in (under_way, waiting):
        assert isinstance(delivery.exception(timeout=30), errors.ClosedError)
    assert under_way.exception(timeout=30).maybe_done  # type: ignore[union-attr]


def test_flush_times_out(mock_cluster: MockCluster, single: str) -> None:
    producer = ottla.Producer(mock_cluster.bootstrap, linger_ms=0)
    producer.send(single, "first").result(timeout=30)
    mock_cluster.inject(Fault.silence(), api="Produce")
    producer.send(single, "second")
    started = time.monotonic()
    with pytest.raises(errors.TimeoutError, match=r"flush: .* after 200 ms"):
        producer.flush(timeout=0.2)
    assert 0.2 <= time.monotonic() - started < 20
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0)


def test_full_buffer_blocks_until_space_is_free(mock_cluster: MockCluster, single: str) -> None:
    config = {"buffer.memory": 20_000, "batch.size": 5_000, "max.block.ms": 60_000, "linger.ms": 0}
    with ottla.Producer(mock_cluster.bootstrap, config) as producer:
        mock_cluster.inject(Fault.delay(0.05), api="Produce")
        deliveries = [producer.send(single, b"x" * 1000) for _ in range(200)]
        assert producer.buffered_bytes <= 20_000
        assert [p.result(timeout=30).offset for p in deliveries] == list(range(200))


def test_full_buffer_times_out(mock_cluster: MockCluster, single: str) -> None:
    config = {"buffer.memory": 20_000, "max.block.ms": 300}
    client = ottla.Client(mock_cluster.bootstrap, config)
    # Look up the topic first, or the lookup would use up the timeout.
    client.cluster([single])
    producer = ottla.Producer(client)
    producer.send(single, "first").result(timeout=30)
    mock_cluster.inject(Fault.silence(), api="Produce")
    started = time.monotonic()
    with pytest.raises(
        errors.TimeoutError, match=r"buffer.memory \(20000 bytes\) stayed full"
    ) as raised:
        fill(producer, single)
    assert 0.3 <= time.monotonic() - started < 20
    assert raised.value.retriable
    with pytest.raises(errors.TimeoutError):
        producer.close(timeout=0)
    client.close()


def test_unknown_topic_times_out() -> None:
    with (
        MockCluster(auto_create_topics=False) as cluster,
        ottla.Producer(cluster.bootstrap, max_block_ms=3000) as producer,
    ):
        sends: list[Callable[[], object]] = [
            lambda: producer.send("nowhere", "v"),
            lambda: producer.send_batch("nowhere", ["v"]),
        ]
        for send in sends:
            started = time.monotonic()
            with pytest.raises(errors.UnknownTopicError, match="nowhere"):
                send()
            assert 2.5 <= time.monotonic() - started < 20


def test_topic_that_appears_while_waiting() -> None:
    with MockCluster(auto_create_topics=False) as cluster:
        cluster.inject(
            Fault.error("UNKNOWN_TOPIC_OR_PARTITION"), api="Metadata", topic="t", times=2
        )
        cluster.create_topic("t")
        with ottla.Producer(cluster.bootstrap) as producer:
            assert producer.send("t", "v").result(timeout=30).offset == 0


def test_auto_created_topic(mock_cluster: MockCluster, producer: ottla.Producer) -> None:
    assert producer.send("brand-new", "v").result(timeout=30).offset == 0


def test_record_too_large(mock_cluster: MockCluster, producer: ottla.Producer, single: str) -> None:
    with pytest.raises(
        errors.RecordTooLargeError, match=r"larger than max.request.size \(1048576\)"
    ) as raised:
        producer.send(single, b"x" * 1_048_576)
    assert raised.value.context["topic"] == single
    assert producer.send(single, b"x" * 1_000_000).result(timeout=30).offset == 0
    config = {"max.request.size": 4_000_000}
    with ottla.Producer(mock_cluster.bootstrap, config) as large:
        error = large.send(single, b"x" * 2_000_000).exception(timeout=30)
    assert isinstance(error, errors.RecordTooLargeError)
    assert error.name == "MESSAGE_TOO_LARGE"


def test_delivery_timeout_bounds_everything(mock_cluster: MockCluster, single: str) -> None:
    config = {"delivery.timeout.ms": 3000, "request.timeout.ms": 2500, "linger.ms": 0}
    with ottla.Producer(mock_cluster.bootstrap, config) as producer:
        producer.send(single, "first").result(timeout=30)
        mock_cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="Produce")
        started = time.monotonic()
        error = producer.send(single, "second").exception(timeout=30)
        assert time.monotonic() - started < 20
    assert isinstance(error, errors.TimeoutError)
    assert "delivery.timeout.ms (3000 ms)" in str(error)
    assert error.name == "NOT_LEADER_OR_FOLLOWER"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_codecs(mock_cluster: MockCluster, single: str, codec: str) -> None:
    with ottla.Producer(mock_cluster.bootstrap, {"compression.type": codec}) as producer:
        deliveries = [producer.send(single, f"value {i}" * 20, f"k{i}") for i in range(500)]
    assert [p.result(timeout=30).offset for p in deliveries] == list(range(500))
    assert [r["value"].decode() for r in rows(mock_cluster, single)] == [
        f"value {i}" * 20 for i in range(500)
    ]


def test_shared_client(mock_cluster: MockCluster, client: ottla.Client, single: str) -> None:
    with ottla.Producer(client) as producer:
        producer.send(single, "v").result(timeout=30)
    # The caller owns the client: it stays open.
    assert client.topic_names() == [single]
    with pytest.raises(errors.ConfigError, match="takes its configuration from it"):
        ottla.Producer(client, linger_ms=5)


def test_many_threads_share_a_producer(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(thread: int) -> set[tuple[int, int | None]]:
        sent = [producer.send(topic, f"{thread}-{i}") for i in range(300)]
        return {(s.result(timeout=30).partition, s.result(timeout=30).offset) for s in sent}

    with ThreadPoolExecutor(8) as pool:
        offsets = set().union(*pool.map(work, range(8)))
    assert len(offsets) == 8 * 300
    assert len(rows(mock_cluster, topic)) == 8 * 300
