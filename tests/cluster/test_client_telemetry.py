"""Client telemetry (KIP-714) on a real broker, whose receiver writes what Kafka reads to a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import ottla
from ottla.admin import ConfigResource
from tests.support.jars import compile_java
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

TIMEOUT = 60.0
SENT = "org.apache.kafka.producer.record.send.total"
ASSIGNED = "org.apache.kafka.consumer.coordinator.assigned.partitions"


class Line(NamedTuple):
    """One value that the broker's receiver got."""

    instance: str
    terminating: bool
    name: str
    kind: str
    value: str


class Receiver:
    """A broker with a receiver of client telemetry."""

    def __init__(self, kafka: KafkaCluster, file: Path) -> None:
        self.bootstrap = kafka.bootstrap
        self._file = file

    def lines(self, instance: str) -> list[Line]:
        """Return what an instance has pushed."""
        text = self._file.read_text() if self._file.exists() else ""
        rows = [line.split("\t") for line in text.splitlines()]
        lines = [Line(row[0], row[1] == "true", *row[2:5]) for row in rows]
        return [line for line in lines if line.instance == instance]

    def wait_for(self, instance: str, name: str) -> None:
        """Wait until an instance has pushed a metric."""
        wait_until(
            lambda: any(line.name == name for line in self.lines(instance)),
            lambda: f"{instance} pushes {name}: {self.lines(instance)}",
        )


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """One broker that requests all metrics ten times a second."""
    directory = tmp_path_factory.mktemp("telemetry")
    compile_java("TelemetryReceiver.java", directory)
    file = directory / "pushes"
    config = {"metric.reporters": "TelemetryReceiver", "ottla.telemetry.file": str(file)}
    with KafkaCluster(1, config=config, classes=[directory]) as kafka:
        with ottla.Admin(kafka.bootstrap) as admin:
            resource = ConfigResource("client_metrics", "all")
            admin.alter_configs({resource: {"metrics": "*", "interval.ms": "100"}})
        kafka.create_topic("t", 1, 1)
        yield Receiver(kafka, file)


def test_a_broker_receives_the_metrics_of_a_producer(receiver: Receiver) -> None:
    with ottla.Producer(receiver.bootstrap, client_rack="rack-a") as producer:
        instance = producer.client_instance_id()
        for _ in range(20):
            producer.send("t", b"v").result(timeout=TIMEOUT)
        receiver.wait_for(instance, SENT)
        for _ in range(22):
            producer.send("t", b"v").result(timeout=TIMEOUT)
    lines = receiver.lines(instance)
    sent = [line for line in lines if line.name == SENT]
    assert {line.kind for line in sent} == {"AGGREGATION_TEMPORALITY_DELTA"}
    assert sum(float(line.value) for line in sent) == 42
    # The last push arrives with closing, and is the only one of its kind.
    assert [line.terminating for line in sent] == [False] * (len(sent) - 1) + [True]
    attributes = {(line.name, line.value) for line in lines if line.kind == "attribute"}
    assert attributes >= {("client_rack", "rack-a")}
    names = {line.name for line in lines}
    for name in ("connection.creation.total", "node.request.latency.avg", "record.queue.time.max"):
        assert f"org.apache.kafka.producer.{name}" in names


def test_a_broker_receives_the_metrics_of_a_consumer(receiver: Receiver) -> None:
    with ottla.Producer(receiver.bootstrap) as producer:
        producer.send("t", b"v").result(timeout=TIMEOUT)
    with ottla.Consumer(
        receiver.bootstrap, group_id="g", auto_offset_reset="earliest", topics=["t"]
    ) as consumer:
        instance = consumer.client_instance_id()
        assert consumer.poll(timeout=TIMEOUT)
        receiver.wait_for(instance, "org.apache.kafka.consumer.fetch.manager.fetch.latency.avg")
        member = consumer.group_metadata().member_id

        def has_member() -> bool:
            attributes = {(line.name, line.value) for line in receiver.lines(instance)}
            return ("group_member_id", member) in attributes

        wait_until(has_member, lambda: f"the member's id: {receiver.lines(instance)}")
    lines = receiver.lines(instance)
    assert "1.0" in {line.value for line in lines if line.name == ASSIGNED}
    assert ("group_id", "g") in {(line.name, line.value) for line in lines}
    assert lines[-1].terminating


def test_without_the_reporter_there_is_no_id(kafka: KafkaCluster) -> None:
    with (
        ottla.Client(kafka.bootstrap) as client,
        pytest.raises(ottla.errors.BrokerError, match=r"metric\.reporters"),
    ):
        client.client_instance_id()
