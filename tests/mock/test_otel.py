"""Spans of sends and polls are linked, end once, and carry the names of the conventions."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.semconv._incubating.attributes import messaging_attributes as names
from opentelemetry.semconv._incubating.metrics import messaging_metrics
from opentelemetry.trace import SpanKind, StatusCode

import ottla
from ottla import errors, otel
from ottla.otel import semantics
from ottla.testing import Fault, MockCluster
from tests.support import loops
from tests.support.consumers import KINDS, read
from tests.support.telemetry import Telemetry, context, linked

TRACEPARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def telemetry() -> Telemetry:
    """Spans and metrics in memory."""
    return Telemetry()


def first_server(cluster: MockCluster) -> str:
    return cluster.bootstrap.split(",")[0]


def consumer_of(kind: str, cluster: MockCluster, topic: str, *interceptors: Any) -> Any:
    """Return a consumer of a topic from its beginning."""
    return KINDS[kind](
        first_server(cluster),
        topics=[topic],
        group_id="traced",
        client_id="reader",
        auto_offset_reset="earliest",
        interceptors=interceptors,
    )


def send(cluster: MockCluster, topic: str, telemetry: Telemetry, *values: bytes) -> None:
    with ottla.Producer(
        first_server(cluster), client_id="writer", interceptors=[telemetry.producer()]
    ) as producer:
        for value in values:
            producer.send(topic, value)


def test_the_names_are_those_of_the_conventions() -> None:
    assert (semantics.SYSTEM, semantics.OPERATION_NAME, semantics.OPERATION_TYPE) == (
        names.MESSAGING_SYSTEM,
        names.MESSAGING_OPERATION_NAME,
        names.MESSAGING_OPERATION_TYPE,
    )
    assert (semantics.DESTINATION, semantics.PARTITION, semantics.CLIENT_ID, semantics.GROUP) == (
        names.MESSAGING_DESTINATION_NAME,
        names.MESSAGING_DESTINATION_PARTITION_ID,
        names.MESSAGING_CLIENT_ID,
        names.MESSAGING_CONSUMER_GROUP_NAME,
    )
    assert (semantics.MESSAGE_COUNT, semantics.OFFSET, semantics.TOMBSTONE) == (
        names.MESSAGING_BATCH_MESSAGE_COUNT,
        names.MESSAGING_KAFKA_OFFSET,
        names.MESSAGING_KAFKA_MESSAGE_TOMBSTONE,
    )


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_poll_is_linked_to_the_sends(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry, kind: str
) -> None:
    with telemetry.tracer.start_as_current_span("order") as order:
        send(mock_cluster, single, telemetry, b"a", b"b")
    sends = telemetry.spans("send")
    host, _, port = first_server(mock_cluster).rpartition(":")
    server = {"server.address": host, "server.port": int(port)}
    for offset, span in enumerate(sends):
        assert (span.name, span.kind) == (f"send {single}", SpanKind.PRODUCER)
        assert span.parent == order.get_span_context()
        assert span.attributes == {
            "messaging.system": "kafka",
            "messaging.operation.name": "send",
            "messaging.operation.type": "send",
            "messaging.destination.name": single,
            "messaging.destination.partition.id": "0",
            "messaging.kafka.offset": offset,
            "messaging.client.id": "writer",
            **server,
        }
    with consumer_of(kind, mock_cluster, single, telemetry.consumer()) as consumer:
        consumer.poll(timeout=60)
    [poll] = telemetry.spans("poll")
    assert (poll.name, poll.kind) == (f"poll {single}", SpanKind.CONSUMER)
    assert linked(poll) == [context(span) for span in sends]
    assert poll.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "poll",
        "messaging.operation.type": "receive",
        "messaging.destination.name": single,
        "messaging.destination.partition.id": "0",
        "messaging.batch.message_count": 2,
        "messaging.client.id": "reader",
        "messaging.consumer.group.name": "traced",
        **server,
    }
    assert poll.start_time is not None
    assert poll.end_time is not None
    assert poll.start_time < poll.end_time
    assert telemetry.open_spans() == 0


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_iteration_has_a_span_for_each_record(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry, kind: str
) -> None:
    send(mock_cluster, single, telemetry, b"a", b"b")
    with consumer_of(kind, mock_cluster, single, telemetry.consumer()) as consumer:
        for _ in range(2):
            next(iter(consumer))
    polls = telemetry.spans("poll")
    assert [linked(span) for span in polls] == [[context(s)] for s in telemetry.spans("send")]
    assert [(span.attributes or {})["messaging.kafka.offset"] for span in polls] == [0, 1]


def test_a_record_is_processed_in_its_own_trace(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry
) -> None:
    send(mock_cluster, single, telemetry, b"a")
    mock_cluster.append(single, 0, [b"without a context"])
    with consumer_of("sync", mock_cluster, single) as consumer:
        traced, plain = read(consumer, 2)
    with telemetry.tracer.start_as_current_span("process", otel.extract(traced)) as span:
        [sent] = telemetry.spans("send")
        assert span.get_span_context().trace_id == context(sent)[0]
        current = trace.get_current_span(otel.extract(plain))
        assert current is span, "the current one, without a context in the record"


def test_links_are_bounded(mock_cluster: MockCluster, single: str, telemetry: Telemetry) -> None:
    send(mock_cluster, single, telemetry, b"a", b"b", b"c")
    interceptor = telemetry.consumer(max_links=2)
    with consumer_of("sync", mock_cluster, single, interceptor) as consumer:
        consumer.poll(timeout=60)
    [poll] = telemetry.spans("poll")
    assert linked(poll) == [context(span) for span in telemetry.spans("send")[:2]]


@pytest.mark.parametrize(
    "headers",
    [[("traceparent", TRACEPARENT), ("other", b"1")], {"traceparent": TRACEPARENT.decode()}],
    ids=["pairs", "mapping"],
)
def test_a_context_in_a_record_is_kept(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry, headers: Any
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, interceptors=[telemetry.producer()]) as producer:
        producer.send(single, b"v", headers=headers)
        producer.send(single, None, headers=[("traceparent", b"broken"), ("other", None)])
    kept, replaced = telemetry.spans("send")
    [(trace_id, span_id)] = linked(kept)
    assert f"00-{trace_id:032x}-{span_id:016x}-01".encode() == TRACEPARENT
    assert (replaced.attributes or {})["messaging.kafka.message.tombstone"] is True
    with consumer_of("sync", mock_cluster, single) as consumer:
        first, second = read(consumer, 2)
    assert dict(first.headers)["traceparent"] == TRACEPARENT
    assert len(first.headers) == len(headers)
    trace_id, span_id = context(replaced)
    (_, injected) = second.headers
    assert second.headers[0] == ("other", None)
    assert injected[0] == "traceparent"
    assert (injected[1] or b"").startswith(f"00-{trace_id:032x}-{span_id:016x}-".encode())


def test_failures_are_recorded(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry
) -> None:
    with ottla.Producer(mock_cluster.bootstrap, interceptors=[telemetry.producer()]) as producer:
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.error("INVALID_RECORD"), api="Produce", times=1)
        assert producer.send(single, b"v").exception(timeout=30)
        with pytest.raises(TypeError):
            producer.send(single, 5)
        with pytest.raises(TypeError):
            producer.send(single, b"v", headers=5)  # type: ignore[arg-type]
    _, failed, refused = telemetry.spans("send")
    assert "server.address" not in (failed.attributes or {}), "there are several servers"
    assert failed.status.status_code is refused.status.status_code is StatusCode.ERROR
    assert (failed.attributes or {})["error.type"] == "INVALID_RECORD"
    assert (refused.attributes or {})["error.type"] == "TypeError"
    assert [event.name for event in failed.events] == ["exception"]
    assert telemetry.open_spans() == 0
    sent = telemetry.points(messaging_metrics.MESSAGING_CLIENT_SENT_MESSAGES)
    counts = {point.attributes.get("error.type"): point.value for point in sent}
    assert counts == {None: 1, "INVALID_RECORD": 1, "TypeError": 1}


@pytest.mark.parametrize("kind", [ottla.Producer, ottla.AsyncProducer])
def test_no_span_stays_open_after_close(
    mock_cluster: MockCluster, single: str, telemetry: Telemetry, kind: Any
) -> None:
    producer = kind(mock_cluster.bootstrap, interceptors=[telemetry.producer()])

    async def work() -> None:
        await producer.send(single, b"v")
        mock_cluster.inject(Fault.silence(), api="Produce")
        lost = [producer.send(single, b"v"), await producer.send_batch(single, ["a", "b"])]
        with pytest.raises(errors.TimeoutError):
            await producer.close(timeout=0)
        with pytest.raises(errors.KafkaError):
            await lost[0]

    if kind is ottla.AsyncProducer:
        loops.run(work(), 60)
    else:
        producer.send(single, b"v").result(timeout=30)
        mock_cluster.inject(Fault.silence(), api="Produce")
        producer.send(single, b"v")
        producer.send_batch(single, ["a", "b"])
        with pytest.raises(errors.TimeoutError):
            producer.close(timeout=0)
    assert len(telemetry.spans("send")) == 4
    assert telemetry.open_spans() == 0


def test_without_sampling_the_context_travels_all_the_same(
    mock_cluster: MockCluster, single: str
) -> None:
    telemetry = Telemetry(ALWAYS_OFF)
    send(mock_cluster, single, telemetry, b"a")
    with consumer_of("sync", mock_cluster, single, telemetry.consumer()) as consumer:
        [record] = read(consumer, 1)
    [(name, value)] = record.headers
    assert name == "traceparent"
    assert value is not None
    assert int(value[-2:], 16) & 1 == 0, "not sampled"
    assert telemetry.spans() == []
    [sent] = telemetry.points(messaging_metrics.MESSAGING_CLIENT_SENT_MESSAGES)
    assert sent.value == 1


def test_metrics(mock_cluster: MockCluster, topic: str, single: str, telemetry: Telemetry) -> None:
    send(mock_cluster, topic, telemetry, b"a", b"b")
    send(mock_cluster, single, telemetry, b"c")
    with consumer_of("sync", mock_cluster, topic, telemetry.consumer()) as consumer:
        consumer.subscribe([topic, single])
        read(consumer, 3)
    consumed = telemetry.points(messaging_metrics.MESSAGING_CLIENT_CONSUMED_MESSAGES)
    counts = {point.attributes["messaging.destination.name"]: point.value for point in consumed}
    assert counts == {topic: 2, single: 1}
    durations = telemetry.points(messaging_metrics.MESSAGING_CLIENT_OPERATION_DURATION)
    sends = [p for p in durations if p.attributes["messaging.operation.name"] == "send"]
    assert sum(point.count for point in sends) == 3
    assert all(point.explicit_bounds[0] == 0.005 for point in durations)
    assert not any("partition" in name for point in durations for name in point.attributes)


@pytest.mark.parametrize("kind", list(KINDS))
def test_arrow(mock_cluster: MockCluster, single: str, telemetry: Telemetry, kind: str) -> None:
    mock_cluster.append(single, 0, [b"a", b"b"])
    with consumer_of(kind, mock_cluster, single, telemetry.consumer()) as consumer:
        assert consumer.poll_arrow(timeout=60).num_rows == 2
    [poll] = telemetry.spans("poll")
    assert (poll.attributes or {})["messaging.batch.message_count"] == 2
    [consumed] = telemetry.points(messaging_metrics.MESSAGING_CLIENT_CONSUMED_MESSAGES)
    assert consumed.value == 2
