"""Kill -9 the leader while producing and while scanning: no acknowledged record is lost (P1, P6).

Another client reads back every acknowledged record at its reported offset; every failed record has
an error that explains it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ottla
from ottla import errors
from tests.support import confluent
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]
PARTITIONS = 6
CONFIG = {"min.insync.replicas": "2"}


def kill_after(kafka: KafkaCluster, broker: int, kill_now: threading.Event) -> threading.Thread:
    """Kill a broker once the event is set."""

    def kill() -> None:
        if kill_now.wait(120):
            kafka.kill(broker)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_kill_the_leader_while_producing(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    victim = kafka.leader_of(topic, 0)
    led = [p for p in range(PARTITIONS) if kafka.leader_of(topic, p) == victim]
    count, kill_now = 150_000, threading.Event()
    killer = kill_after(kafka, victim, kill_now)
    deliveries: list[ottla.Delivery] = []
    callbacks: list[list[tuple[int, int | None, errors.KafkaError | None]]] = [
        [] for _ in range(PARTITIONS)
    ]

    def note(number: int, error: errors.KafkaError | None, metadata: ottla.RecordMetadata) -> None:
        callbacks[number % PARTITIONS].append((number, metadata.offset, error))

    config = {
        "acks": "all",
        "linger.ms": 5,
        "compression.type": "lz4",
        "delivery.timeout.ms": 180_000,
    }
    with ottla.Producer(kafka.bootstrap, config) as producer:
        for i in range(count):
            deliveries.append(
                producer.send(
                    topic, f"{i:08}", partition=i % PARTITIONS, on_delivery=partial(note, i)
                )
            )
            if i == count // 3:
                kill_now.set()
            if i % 1_000 == 0:
                # Slows the sending, so that the kill and the election happen in the middle.
                time.sleep(0.05)
        killer.join()
        assert not kafka.nodes[victim].pid
        producer.flush(timeout=200)
    acknowledged: dict[tuple[int, int], bytes] = {}
    failed: list[errors.KafkaError] = []
    for i, delivery in enumerate(deliveries):
        assert delivery.done()
        error = delivery.exception()
        if error is not None:
            failed.append(error)
            continue
        metadata = delivery.result()
        assert metadata.offset is not None
        assert metadata.partition == i % PARTITIONS
        position = (metadata.partition, metadata.offset)
        assert position not in acknowledged, "two records have the same offset"
        acknowledged[position] = f"{i:08}".encode()
    for partition, calls in enumerate(callbacks):
        # One call per record, in order, with the same result as the delivery.
        assert [number for number, *_ in calls] == list(range(partition, count, PARTITIONS))
        for number, offset, error in calls:
            assert (deliveries[number].exception() is None) == (error is None)
            assert error is not None or deliveries[number].result().offset == offset
    kafka.restart(victim)
    for partition in range(PARTITIONS):
        kafka.wait_for_isr(topic, partition, 3)
    found = {
        position: m.value()
        for position, m in confluent.read_all(kafka.bootstrap, topic, range(PARTITIONS)).items()
    }
    lost = {
        position: value for position, value in acknowledged.items() if found.get(position) != value
    }
    assert not lost, f"{len(lost)} acknowledged records are not at their offsets"
    for error in failed:
        assert isinstance(error, errors.KafkaError)
        assert str(error)
        assert error.context["topic"] == topic
    # With two in-sync replicas left and a timeout of minutes, no record may fail.
    assert len(acknowledged) == count, Counter(str(error) for error in failed).most_common(3)
    assert found.keys() == acknowledged.keys(), "there are duplicates"
    print(f"killed broker {victim} (leader of {led}); {count} acknowledged")
    ours = ottla.scan(topic, kafka.bootstrap, columns=["partition", "offset", "value"])
    table = pa.RecordBatchReader.from_stream(ours).read_all()
    positions = zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)
    assert dict(zip(positions, table["value"].to_pylist(), strict=True)) == found


def test_kill_the_leader_while_sending_batches(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    victim = kafka.leader_of(topic, 3)
    kill_now = threading.Event()
    killer = kill_after(kafka, victim, kill_now)
    sent: list[tuple[list[str], ottla.BatchDelivery]] = []
    with ottla.Producer(kafka.bootstrap, delivery_timeout_ms=180_000) as producer:
        for n in range(60):
            rows = [f"{n:03}-{i:04}" for i in range(2_000)]
            sent.append((rows, producer.send_batch(topic, pa.array(rows), pa.array(rows))))
            if n == 15:
                kill_now.set()
            time.sleep(0.05)
        killer.join()
        reported = [delivery.errors(timeout=200) for _, delivery in sent]
    kafka.restart(victim)
    failed = {
        rows[index]
        for (rows, _), failures in zip(sent, reported, strict=True)
        for first, length, error in failures
        for index in range(first, first + length)
        if str(error)
    }
    found: set[str] = set()
    for message in confluent.read_all(kafka.bootstrap, topic, range(PARTITIONS)).values():
        value = message.value()
        assert value is not None
        found.add(value.decode())
    missing = {row for rows, _ in sent for row in rows if row not in found}
    assert missing <= failed, f"{len(missing - failed)} acknowledged records are lost"
    assert not failed


def test_kill_the_leader_while_scanning(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    count = 120_000
    values = pa.array([f"{i:08}" + "x" * 300 for i in range(count)])
    partitions = pa.array([i % PARTITIONS for i in range(count)], pa.int32())
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(topic, pa.table({"value": values, "partition": partitions})).result(
            timeout=120
        )
    victim = kafka.leader_of(topic, 0)
    with ottla.Client(kafka.bootstrap, fetch_max_bytes=200_000) as client:
        scan = ottla.scan(topic, client, max_rows=1_000, columns=["value", "partition", "offset"])
        batches = [pa.record_batch(next(scan)) for _ in range(10)]
        kafka.kill(victim)
        batches += [pa.record_batch(batch) for batch in scan]
        table = pa.Table.from_batches(batches)
        assert table.num_rows == count
        assert sorted(table["value"].to_pylist()) == [v.encode() for v in values.to_pylist()]
        for partition in range(PARTITIONS):
            rows = table.filter(pc.equal(table["partition"], partition))
            assert rows["offset"].to_pylist() == list(range(count // PARTITIONS))
        # The same client continues with the new leader, and reports it.
        assert client.cluster([topic], refresh=True).topics[topic].partitions[0].leader != victim
    kafka.restart(victim)
    for partition in range(PARTITIONS):
        kafka.wait_for_isr(topic, partition, 3)


def test_the_cluster_is_healthy_afterwards(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    assert kafka.members() == {1, 2, 3}
    topic = kafka_topic(3)
    with ottla.Producer(kafka.bootstrap) as producer:
        assert (
            producer.send_batch(topic, ["x"] * 30, partitions=[0, 1, 2] * 10).result(timeout=120)
            == 30
        )
