"""Interceptors see each record, may change it, are notified once, and cannot break a send."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import ottla
from ottla import errors, serializers
from ottla.interceptors import ProducerInterceptor, ProducerRecord
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.arrow import read_rows

Acknowledgement = tuple[ottla.RecordMetadata, BaseException | None]


class RecordingInterceptor(ProducerInterceptor):
    """Records every call."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.seen: list[ProducerRecord] = []
        self.acknowledged: list[Acknowledgement] = []
        self.threads: set[str] = set()
        self.closed = 0

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.seen.append(record)
        return replace(record, headers=[*(record.headers or ()), ("by", self.name)])

    def on_acknowledgement(
        self, metadata: ottla.RecordMetadata, error: BaseException | None
    ) -> None:
        self.threads.add(threading.current_thread().name)
        self.acknowledged.append((metadata, error))

    def close(self) -> None:
        self.closed += 1


class Broken(ProducerInterceptor):
    """Raises from every method."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise ZeroDivisionError("on_send")

    def on_acknowledgement(
        self, metadata: ottla.RecordMetadata, error: BaseException | None
    ) -> None:
        raise ZeroDivisionError("on_acknowledgement")

    def close(self) -> None:
        raise ZeroDivisionError("close")


def rows(cluster: MockCluster, topic: str) -> list[dict[str, Any]]:
    return read_rows(ottla.scan(topic, cluster.bootstrap, include_headers=True))


def names(row: dict[str, Any]) -> list[bytes]:
    return [header["value"] for header in row["headers"]]


@pytest.fixture
def recording() -> RecordingInterceptor:
    """An interceptor that records its calls."""
    return RecordingInterceptor("first")


def test_interceptors_run_in_order(
    mock_cluster: MockCluster, single: str, recording: RecordingInterceptor
) -> None:
    second = RecordingInterceptor("second")
    order: list[str] = []
    second.on_acknowledgement = lambda *arguments: order.append("interceptor")  # type: ignore[method-assign]
    with ottla.Producer(
        mock_cluster.bootstrap,
        interceptors=[recording, second],
        key_serializer=serializers.int,
        value_serializer=serializers.json,
    ) as producer:
        sent = producer.send(
            single,
            {"a": 1},
            7,
            timestamp=5,
            on_delivery=lambda error, where: order.append("program"),
        )
        assert sent.result(timeout=30).offset == 0
    assert recording.seen == [ProducerRecord(single, {"a": 1}, 7, None, 5, None)]
    assert second.seen == [replace(recording.seen[0], headers=[("by", "first")])]
    [(where, error)] = recording.acknowledged
    assert (where.topic, where.partition, where.offset, where.timestamp, error) == (
        single, 0, 0, 5, None
    )  # fmt: skip
    assert recording.threads == {"ottla-delivery"}
    assert order == ["interceptor", "program"]
    assert recording.closed == second.closed == 1
    [row] = rows(mock_cluster, single)
    assert (row["key"], row["value"]) == ((7).to_bytes(8, "big"), b'{"a":1}')
    assert names(row) == [b"first", b"second"]


def test_an_interceptor_may_redirect_a_record(mock_cluster: MockCluster, topic: str) -> None:
    class Redirecting(ProducerInterceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return ProducerRecord(topic, b"other", b"key", partition=2)

    with ottla.Producer(mock_cluster.bootstrap, interceptors=[Redirecting()]) as producer:
        where = producer.send("nowhere", b"v").result(timeout=30)
    assert (where.topic, where.partition) == (topic, 2)
    assert [row["value"] for row in rows(mock_cluster, topic)] == [b"other"]


def test_interceptor_exceptions_are_logged_and_ignored(
    mock_cluster: MockCluster,
    single: str,
    recording: RecordingInterceptor,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Wrong(ProducerInterceptor):
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return None  # type: ignore[return-value]

    everybody = [Broken(), Wrong(), recording]
    with ottla.Producer(mock_cluster.bootstrap, interceptors=everybody) as producer:
        assert producer.send(single, b"v").result(timeout=30).offset == 0
        producer.flush()
        assert producer.send_batch(single, ["a", "b"]).result(timeout=30) == 2
    assert len(recording.seen) == len(recording.acknowledged) == 3
    assert "Broken.on_send failed; the record is sent unchanged" in caplog.text
    assert "expected a ProducerRecord, not NoneType" in caplog.text
    assert "Broken.on_acknowledgement failed" in caplog.text
    assert "Broken.close failed" in caplog.text
    assert len(rows(mock_cluster, single)) == 3


def test_a_record_rejected_by_send_is_reported_at_once(
    mock_cluster: MockCluster, topic: str, recording: RecordingInterceptor
) -> None:
    called: list[object] = []
    with ottla.Producer(mock_cluster.bootstrap, interceptors=[recording]) as producer:
        with pytest.raises(errors.UnknownTopicError):
            producer.send(
                topic, b"v", partition=7, on_delivery=lambda *arguments: called.append(arguments)
            )
        with pytest.raises(TypeError):
            producer.send(topic, 5)
    [(where, error), (other, wrong_type)] = recording.acknowledged
    assert (where.topic, where.partition, where.offset) == (topic, 7, None)
    assert isinstance(error, errors.UnknownTopicError)
    assert (other.partition, type(wrong_type)) == (-1, TypeError)
    assert not called, "send already raised the exception"


def test_each_record_of_a_batch_is_reported_once(
    mock_cluster: MockCluster, topic: str, recording: RecordingInterceptor
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, interceptors=[recording]) as producer:
        sent = producer.send_batch(topic, ["a", "b", "c"], partitions=[0, 7, 1])
        assert [first for first, _, _ in sent.errors(timeout=10)] == [1]
        producer.flush()
        reported = sorted(
            (where.partition, where.offset)
            for where, _ in recording.acknowledged
            if where.offset is not None
        )
        assert reported == [(0, 0), (1, 0)]
        [(where, _)] = [
            acknowledged for acknowledged in recording.acknowledged if acknowledged[1] is not None
        ]
        assert where.partition == 7
        recording.acknowledged.clear()
        # The second value has an unsupported type, so nothing is sent.
        with pytest.raises(TypeError):
            producer.send_batch(topic, ["a", 5, "c"])
        assert [type(error) for _, error in recording.acknowledged] == [TypeError, TypeError]
        with pytest.raises(errors.ConfigError, match="interceptors take Python records"):
            producer.send_batch(topic, pa.array(["x"]))
    assert [names(row) for row in rows(mock_cluster, topic)] == [[b"first"], [b"first"]]


def test_a_failure_is_reported(
    mock_cluster: MockCluster, single: str, recording: RecordingInterceptor
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, interceptors=[recording]) as producer:
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
        assert producer.send(single, b"v").exception(timeout=10)
        producer.flush()
    _, (where, error) = recording.acknowledged
    assert (where.partition, where.offset) == (0, None)
    assert isinstance(error, errors.BrokerError)
    assert error.name == "INVALID_RECORD"


def test_with_asyncio(
    mock_cluster: MockCluster, topic: str, recording: RecordingInterceptor
) -> None:
    async def work() -> None:
        async with ottla.AsyncProducer(
            mock_cluster.bootstrap, interceptors=[recording, Broken()]
        ) as producer:
            # The first send waits for its topic, the second does not.
            for _ in range(2):
                await producer.send(topic, b"v", partition=1)
            with pytest.raises(errors.UnknownTopicError):
                await producer.send(topic, b"v", partition=7)
            sent = await producer.send_batch(topic, ["a", "b"], partitions=[2, 9])
            assert [first for first, _, _ in await sent.errors()] == [1]
            with pytest.raises(errors.ConfigError):
                await producer.send_batch(topic, pa.array(["x"]))
        assert recording.closed == 1

    loops.run(work(), 60)
    reported = sorted((where.partition, error is None) for where, error in recording.acknowledged)
    assert reported == [(1, True), (1, True), (2, True), (7, False), (9, False)]
    assert recording.threads == {threading.current_thread().name}


@pytest.mark.parametrize("kind", [ottla.Producer, ottla.AsyncProducer])
def test_close_runs_after_a_close_timeout(
    mock_cluster: MockCluster, single: str, recording: RecordingInterceptor, kind: Any
) -> None:
    """Records that `close` fails are reported before the interceptor is closed."""
    producer = kind(mock_cluster.bootstrap, linger_ms=0, interceptors=[recording])

    async def work() -> None:
        await producer.send(single, b"v")
        mock_cluster.inject(Fault.silence(), api="Produce")
        lost = producer.send(single, b"v")
        with pytest.raises(errors.TimeoutError):
            await producer.close(timeout=0)
        with pytest.raises(errors.KafkaError):
            await lost

    if kind is ottla.AsyncProducer:
        loops.run(work(), 60)
    else:
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.silence(), api="Produce")
        producer.send(single, b"v")
        with pytest.raises(errors.TimeoutError):
            producer.close(timeout=0)
    assert recording.closed == 1
    assert [error is None for _, error in recording.acknowledged] == [True, False]


def test_invalid_interceptors_are_rejected(mock_cluster: MockCluster) -> None:
    with pytest.raises(errors.ConfigError, match="an object of type int has no on_send"):
        ottla.Producer(mock_cluster.bootstrap, interceptors=[5])  # type: ignore[list-item]
