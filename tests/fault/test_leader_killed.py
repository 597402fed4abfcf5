"""Kill -9 the leader while producing and while scanning: nothing acknowledged is lost (P1, P6).

The oracle is Kafka's own: every acknowledged record is read back, by another client, at the offset
that was told; every record reported as failed says why.
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


def kill_after(kafka: KafkaCluster, broker: int, moment: threading.Event) -> threading.Thread:
    """Kill a broker when the moment has come."""

    def kill() -> None:
        if moment.wait(120):
            kafka.kill(broker)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_kill_the_leader_while_producing(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    victim = kafka.leader_of(topic, 0)
    led = [p for p in range(PARTITIONS) if kafka.leader_of(topic, p) == victim]
    count, moment = 150_000, threading.Event()
    killer = kill_after(kafka, victim, moment)
    promises: list[ottla.Delivery] = []
    called: list[list[tuple[int, int | None, errors.KafkaError | None]]] = [
        [] for _ in range(PARTITIONS)
    ]

    def note(number: int, error: errors.KafkaError | None, told: ottla.RecordMetadata) -> None:
        called[number % PARTITIONS].append((number, told.offset, error))

    config = {
        "acks": "all",
        "linger.ms": 5,
        "compression.type": "lz4",
        "delivery.timeout.ms": 180_000,
    }
    with ottla.Producer(kafka.bootstrap, config) as producer:
        for i in range(count):
            promises.append(
                producer.send(
                    topic, f"{i:08}", partition=i % PARTITIONS, on_delivery=partial(note, i)
                )
            )
            if i == count // 3:
                moment.set()
            if i % 1_000 == 0:
                # The death and the election happen in the middle, and not after it.
                time.sleep(0.05)
        killer.join()
        assert not kafka.nodes[victim].pid
        producer.flush(200)
    acknowledged: dict[tuple[int, int], bytes] = {}
    failed: list[errors.KafkaError] = []
    for i, promise in enumerate(promises):
        assert promise.done()
        error = promise.exception()
        if error is not None:
            failed.append(error)
            continue
        told = promise.result()
        assert told.offset is not None
        assert told.partition == i % PARTITIONS
        place = (told.partition, told.offset)
        assert place not in acknowledged, "two records were told the same offset"
        acknowledged[place] = f"{i:08}".encode()
    for partition, calls in enumerate(called):
        # Once a record and in order, and they say what the promises say.
        assert [number for number, *_ in calls] == list(range(partition, count, PARTITIONS))
        for number, offset, error in calls:
            assert (promises[number].exception() is None) == (error is None)
            assert error is not None or promises[number].result().offset == offset
    kafka.restart(victim)
    for partition in range(PARTITIONS):
        kafka.wait_for_isr(topic, partition, 3)
    found = {
        place: m.value()
        for place, m in confluent.read_all(kafka.bootstrap, topic, range(PARTITIONS)).items()
    }
    lost = {place: value for place, value in acknowledged.items() if found.get(place) != value}
    assert not lost, f"{len(lost)} acknowledged records are not where they were said to be"
    for error in failed:
        assert isinstance(error, errors.KafkaError)
        assert str(error)
        assert error.context["topic"] == topic
    # With two in-sync replicas left and minutes of patience, none needs to fail.
    assert len(acknowledged) == count, Counter(str(error) for error in failed).most_common(3)
    assert found.keys() == acknowledged.keys(), "records are there twice"
    print(f"killed broker {victim} (leader of {led}); {count} acknowledged")
    ours = ottla.scan(topic, kafka.bootstrap, columns=["partition", "offset", "value"])
    table = pa.RecordBatchReader.from_stream(ours).read_all()
    places = zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)
    assert dict(zip(places, table["value"].to_pylist(), strict=True)) == found


def test_kill_the_leader_while_sending_batches(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(PARTITIONS, config=CONFIG)
    victim = kafka.leader_of(topic, 3)
    moment = threading.Event()
    killer = kill_after(kafka, victim, moment)
    sent: list[tuple[list[str], ottla.BatchDelivery]] = []
    with ottla.Producer(kafka.bootstrap, delivery_timeout_ms=180_000) as producer:
        for n in range(60):
            rows = [f"{n:03}-{i:04}" for i in range(2_000)]
            sent.append((rows, producer.send_batch(topic, pa.array(rows), pa.array(rows))))
            if n == 15:
                moment.set()
            time.sleep(0.05)
        killer.join()
        told = [delivery.errors(200) for _, delivery in sent]
    kafka.restart(victim)
    failed = {
        rows[index]
        for (rows, _), failures in zip(sent, told, strict=True)
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
        producer.send_batch(topic, pa.table({"value": values, "partition": partitions})).result(120)
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
        # The same client reads on with the new leader, and says so.
        assert client.cluster([topic], refresh=True).topics[topic].partitions[0].leader != victim
    kafka.restart(victim)
    for partition in range(PARTITIONS):
        kafka.wait_for_isr(topic, partition, 3)


def test_the_cluster_is_healthy_afterwards(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    assert kafka.members() == {1, 2, 3}
    topic = kafka_topic(3)
    with ottla.Producer(kafka.bootstrap) as producer:
        assert producer.send_batch(topic, ["x"] * 30, partitions=[0, 1, 2] * 10).result(120) == 30
