"""What a processor measures: counts of what is certain, what waits, and for whom."""

from __future__ import annotations

import gc
import logging
import math
import threading
from typing import Any

import pytest

import ottla
from ottla.processing import HandledRecords, ProcessorInterceptor, engine
from ottla.testing import Fault, MockCluster
from tests.support.processing import PROCESSORS, make, run_until, running, send, written
from tests.support.telemetry import Telemetry
from tests.support.waiting import wait_until


@pytest.fixture(params=PROCESSORS)
def kind(request: pytest.FixtureRequest) -> Any:
    """The class: blocking or asyncio."""
    return PROCESSORS[request.param]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_PAUSE", 0.001)


def reject(record: Any) -> None:
    if record.value == b"bad":
        raise ValueError("bad")


class Seen(ProcessorInterceptor):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.configs: dict[str, str] = {}
        self.handled: list[HandledRecords] = []

    def configure(self, configs: Any, metrics: Any) -> None:
        self.configs = dict(configs)

    def on_handled(self, handled: HandledRecords) -> None:
        self.handled.append(handled)


def test_each_outcome_is_counted_and_rendered(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    send(mock_cluster, b"a", b"bad", b"b")
    processor = make(kind, mock_cluster, reject, retry_delays=[0.05])
    with running(processor):
        wait_until(lambda: processor.metrics()["record-dead-letter-total"])
        during = ottla.prometheus.render({"billing": processor})
    found = dict(processor.metrics())
    assert 0 < found.pop("handler-time-seconds-total") < 60
    assert found == {
        "record-attempt-total": 4,
        "record-success-total": 2,
        "record-failure-total": 2,
        "record-retry-total": 1,
        "record-dead-letter-total": 1,
        "records-waiting": 0,
        "partitions-blocked": 0,
        "retry-wait-time-seconds": 0,
        "handler-call-total": 4,
        "transaction-abort-total": 0,
    }
    assert "# TYPE kafka_processor_record_attempt_total counter" in during
    assert 'kafka_processor_record_success_total{client_id="billing"} 2.0' in during
    assert "# TYPE kafka_processor_handler_time_seconds_total counter" in during
    assert "# TYPE kafka_processor_partitions_blocked gauge" in during
    for line in during.splitlines():
        assert not line.startswith("# HELP") or line.endswith("."), line


@pytest.mark.parametrize("batch", [False, True])
def test_what_an_aborted_transaction_did_is_not_counted(
    mock_cluster: MockCluster,
    topic: str,
    kind: Any,
    batch: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The handler was called again; the record was retried, and the other one handled, once."""
    caplog.set_level(logging.INFO, "ottla.processing")
    send(mock_cluster, b"bad", b"good")
    mock_cluster.inject(Fault.error("TRANSACTION_ABORTABLE"), api="TxnOffsetCommit", times=2)
    seen = Seen()

    def handle(records: Any) -> None:
        failures = {}
        for index, record in enumerate(records if batch else [records]):
            if record.value == b"bad":
                failures[index] = ValueError("bad")
        if failures:
            raise ottla.processing.FailedRecords(failures) if batch else failures[0]

    processor = make(
        kind,
        mock_cluster,
        handle,
        batch=batch,
        exactly_once=True,
        retry_delays=[3600],
        interceptors=[seen],
    )
    run_until(processor, lambda: processor.metrics()["record-success-total"])
    found = processor.metrics()
    names = ("success", "failure", "retry", "dead-letter")
    assert [found[f"record-{name}-total"] for name in names] == [1, 1, 1, 0]
    assert found["transaction-abort-total"] == 2
    assert found["record-attempt-total"] == (6 if batch else 4)
    aborted = [each for each in seen.handled if each.is_aborted]
    assert [(each.succeeded, each.retried) for each in aborted] == [(0, 0)] * 2
    assert sum(each.succeeded for each in seen.handled) == 1
    assert len(written(mock_cluster.bootstrap, "orders.retry.1h", isolation_level="read_committed"))
    lines = [each.getMessage() for each in caplog.records if "ValueError" in each.getMessage()]
    assert len(lines) == 2
    assert "it was written to orders.retry.1h" in lines[0]
    assert lines[1].startswith("records of orders that fail with ValueError: 1 failure in")


def test_partitions_do_not_share_the_limit_of_repeated_transactions(kind: Any) -> None:
    """Ten in a row of one partition end the run: not four of each of three partitions."""
    # One leader returns all partitions at once, so that their transactions take turns.
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("orders", partitions=3)
        cluster.create_topic("out", partitions=3)
        with ottla.Producer(cluster.bootstrap) as producer:
            for partition in range(3):
                producer.send("orders", b"x", partition=partition)
        for partition in range(3):
            cluster.inject(
                Fault.error("TRANSACTION_ABORTABLE"),
                api="Produce",
                topic="out",
                partition=partition,
                times=4,
            )

        def handle(record: Any) -> None:
            processor.producer.send("out", record.value, partition=record.partition)

        processor = make(kind, cluster, handle, exactly_once=True)
        run_until(processor, lambda: processor.metrics()["record-success-total"] == 3)
    assert processor.metrics()["transaction-abort-total"] == 12


def test_a_partition_that_is_blocked_is_counted_with_the_time_that_is_left(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    send(mock_cluster, b"bad", b"behind it")
    processor = make(kind, mock_cluster, reject, keep_order=True, retry_delays=[3600])
    with running(processor):
        wait_until(lambda: processor.metrics()["partitions-blocked"] == 1)
        found = processor.metrics()
        assert found["records-waiting"] == 1
        assert 3500 < found["retry-wait-time-seconds"] <= 3600
    after = processor.metrics()
    assert (after["partitions-blocked"], after["retry-wait-time-seconds"]) == (0, 0)


def test_counts_are_right_at_every_moment_of_the_end_of_a_run(
    mock_cluster: MockCluster, topic: str, kind: Any
) -> None:
    found: list[float] = []

    class Watched(kind):  # type: ignore[misc]
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            # What another thread would see between two assignments.
            if found:
                found.append(self.metrics()["record-success-total"])

    send(mock_cluster, b"a", b"b")
    processor = make(Watched, mock_cluster, reject)
    with running(processor):
        wait_until(lambda: processor.metrics()["record-success-total"] == 2)
        found.append(2)
    assert len(found) > 3
    assert set(found) == {2}


def test_interceptors_see_each_call_and_stop_nothing(
    mock_cluster: MockCluster, topic: str, kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Seen):
        def on_handled(self, handled: HandledRecords) -> None:
            raise RuntimeError("broken")

    send(mock_cluster, b"a", b"bad")
    seen = Seen()
    processor = make(
        kind, mock_cluster, reject, retry_delays=[], interceptors=[Broken(), seen], client_id="c"
    )
    run_until(processor, lambda: len(seen.handled) == 2)
    assert seen.configs == {
        "bootstrap.servers": mock_cluster.bootstrap,
        "client.id": "c",
        "group.id": "billing",
    }
    first, second = seen.handled
    assert (first.topic, first.partition, first.attempt, first.records) == (topic, 0, 1, 1)
    assert (first.succeeded, first.dead_lettered, first.error) == (1, 0, None)
    assert (second.succeeded, second.dead_lettered) == (0, 1)
    assert isinstance(second.error, ValueError)
    broken = [each for each in caplog.records if "Broken.on_handled failed" in each.getMessage()]
    assert len(broken) == 2
    with pytest.raises(ottla.errors.ConfigError, match=r"has no on_handled\(\)"):
        make(kind, mock_cluster, reject, interceptors=[object()])


def test_an_interceptor_sees_what_ends_the_run(mock_cluster: MockCluster, topic: str) -> None:
    send(mock_cluster, b"bad")
    seen = Seen()
    processor = make(
        PROCESSORS["blocking"], mock_cluster, reject, stop_on=[ValueError], interceptors=[seen]
    )
    with pytest.raises(ValueError, match="bad"):
        processor.run()
    (handled,) = seen.handled
    assert isinstance(handled.error, ValueError)
    assert (handled.records, handled.succeeded, handled.retried) == (1, 0, 0)


def test_metrics_of_opentelemetry(mock_cluster: MockCluster, topic: str, kind: Any) -> None:
    send(mock_cluster, b"a", b"bad")
    telemetry = Telemetry()
    release = threading.Event()

    def handle(record: Any) -> None:
        reject(record)
        release.wait(0.01)

    processor = make(
        kind,
        mock_cluster,
        handle,
        retry_delays=[0.05, 3600],
        interceptors=[telemetry.processor()],
    )
    with running(processor):
        wait_until(lambda: processor.metrics()["record-retry-total"] == 2)
        wait_until(lambda: processor.metrics()["records-waiting"] == 1)
        (waiting,) = telemetry.points("ottla.processor.waiting.messages")
        (left,) = telemetry.points("ottla.processor.retry.wait_time")
    assert waiting.value == 1
    assert 0 <= left.value <= 3600
    common = {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.consumer.group.name": "billing",
    }
    for point in telemetry.points("messaging.process.duration"):
        assert common.items() <= point.attributes.items()
    durations = {
        (each.attributes["messaging.destination.name"], each.attributes.get("error.type")): each
        for each in telemetry.points("messaging.process.duration")
    }
    assert {place: each.count for place, each in durations.items()} == {
        ("orders", None): 1,
        ("orders", "ValueError"): 1,
        ("orders.retry.50ms", "ValueError"): 1,
    }
    assert 0.01 <= durations["orders", None].sum < math.inf
    for name, total in {
        "messaging.client.consumed.messages": 3,
        "ottla.processor.handled.messages": 1,
        "ottla.processor.retried.messages": 2,
        "ottla.processor.dead_lettered.messages": 0,
    }.items():
        assert sum(each.value for each in telemetry.points(name)) == total, name


def test_a_processor_that_is_gone_is_not_measured(mock_cluster: MockCluster, topic: str) -> None:
    telemetry = Telemetry()
    processor = make(
        PROCESSORS["blocking"], mock_cluster, reject, interceptors=[telemetry.processor()]
    )
    assert telemetry.points("ottla.processor.waiting.messages")[0].value == 0
    del processor
    wait_until(lambda: not telemetry.points("ottla.processor.waiting.messages"))


def test_each_processor_of_a_process_is_measured(mock_cluster: MockCluster, topic: str) -> None:
    send(mock_cluster, b"bad")
    telemetry = Telemetry()
    kind = PROCESSORS["blocking"]
    options = {"keep_order": True, "retry_delays": [3600]}
    idle = make(kind, mock_cluster, reject, interceptors=[telemetry.processor()], group_id="idle")
    processors = [
        make(kind, mock_cluster, reject, interceptors=[telemetry.processor()], **options)
        for _ in range(2)
    ]

    def blocked() -> dict[str, float]:
        # A processor is gone when it is collected, of which a busy machine may never feel the need.
        gc.collect()
        points = telemetry.points("ottla.processor.blocked.partitions")
        return {each.attributes["messaging.consumer.group.name"]: each.value for each in points}

    # The one without the partition is of the same group, and hides nothing.
    with running(processors[0]), running(processors[1]):
        wait_until(lambda: blocked() == {"idle": 0, "billing": 1})
        times = telemetry.points("ottla.processor.retry.wait_time")
        assert any(3500 < each.value <= 3600 for each in times)
    del processors
    wait_until(lambda: blocked() == {"idle": 0})
    del idle
    wait_until(lambda: not blocked())
