"""Delivery reports on the mock and on real brokers, and records that Java reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pytest

import ottla
from ottla import errors, serializers
from ottla.interceptors import ProducerInterceptor, ProducerRecord
from tests.cluster.conftest import Brokers
from tests.support.arrow import read_rows
from tests.support.child import run_child
from tests.support.kafka_cluster import KafkaCluster


def values_by_offset(brokers: Brokers, topic: str) -> dict[tuple[int, int], bytes]:
    """Return the value at each partition and offset."""
    rows = read_rows(ottla.scan(topic, brokers.bootstrap))
    return {(row["partition"], row["offset"]): row["value"] for row in rows}


class Counting(ProducerInterceptor):
    """An interceptor that counts sent and acknowledged records."""

    def __init__(self) -> None:
        self.seen = 0
        self.acknowledged: set[tuple[int, int | None]] = set()

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.seen += 1
        return record

    def on_acknowledgement(
        self, metadata: ottla.RecordMetadata, error: BaseException | None
    ) -> None:
        assert error is None
        self.acknowledged.add((metadata.partition, metadata.offset))


def test_callbacks_report_each_record_in_order(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=3)
    called: list[tuple[int, int, int | None]] = []

    def note(number: int, error: errors.KafkaError | None, where: ottla.RecordMetadata) -> None:
        called.append((number, where.partition, where.offset))

    counting = Counting()
    with ottla.Producer(
        brokers.bootstrap,
        linger_ms=0,
        batch_size=2000,
        compression_type="lz4",
        interceptors=[counting],
    ) as producer:
        for number in range(6000):
            producer.send(
                topic,
                str(number),
                partition=number % 3,
                on_delivery=partial(note, number),
            )
        producer.flush()
        metrics = producer.metrics()
    for partition in range(3):
        reported = [(number, offset) for number, where, offset in called if where == partition]
        assert reported == [(partition + 3 * at, at) for at in range(2000)]
    found = values_by_offset(brokers, topic)
    assert len(found) == 6000
    for number, where, offset in called:
        assert offset is not None
        assert found[where, offset] == str(number).encode()
    assert (counting.seen, counting.acknowledged) == (6000, set(found))
    assert metrics["record-send-total"] >= 6000
    assert metrics["record-error-total"] == 0


def test_reported_row_offsets_match_the_log(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=4)
    with ottla.Producer(brokers.bootstrap, batch_size=3000, linger_ms=1) as producer:
        values = pa.array([f"value {number}" for number in range(5000)])
        sent = producer.send_batch(topic, values, pa.array([f"{n % 97}" for n in range(5000)]))
        partitions = pa.array(sent.partitions()).to_pylist()
        offsets = pa.array(sent.offsets(timeout=120)).to_pylist()
    found = values_by_offset(brokers, topic)
    assert len(found) == 5000
    reported = zip(partitions, offsets, values.to_pylist(), strict=True)
    assert all(found[where, offset] == value.encode() for where, offset, value in reported)


def test_no_partition_needs_more_replicas_than_it_has(brokers: Brokers) -> None:
    topic = brokers.create_topic(config={"min.insync.replicas": "4"})
    with ottla.Producer(brokers.bootstrap, delivery_timeout_ms=60_000) as producer:
        assert producer.send(topic, b"v").result().offset == 0


def test_exit_without_close_writes_everything(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=2)
    ended = run_child(
        f"""
producer = ottla.Producer({brokers.bootstrap!r}, linger_ms=60_000)
for number in range(1000):
    producer.send({topic!r}, str(number), partition=number % 2)
sys.exit(17)
""",
        timeout=150,
    )
    assert ended.code == 17, ended.output
    assert sorted(values_by_offset(brokers, topic).values()) == sorted(
        str(n).encode() for n in range(1000)
    )


@pytest.mark.cluster
def test_java_reads_serialized_records(
    kafka: KafkaCluster, kafka_topic: Callable[..., str]
) -> None:
    topic = kafka_topic(partitions=1)
    numbers = [0, 1, -1, 2**31 - 1, -(2**31)]
    with ottla.Producer(
        kafka.bootstrap, key_serializer=serializers.int32, value_serializer=serializers.int
    ) as producer:
        for number in numbers:
            producer.send(topic, number * 2**31, number)
    said = kafka.run_tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--from-beginning"),
        *("--max-messages", str(len(numbers)), "--timeout-ms", "120000"),
        *("--formatter-property", "print.key=true"),
        *("--formatter-property", "key.separator=,"),
        "--formatter-property",
        "key.deserializer=org.apache.kafka.common.serialization.IntegerDeserializer",
        "--formatter-property",
        "value.deserializer=org.apache.kafka.common.serialization.LongDeserializer",
    )
    lines = [json.loads(f"[{line}]") for line in said.splitlines() if "," in line]
    assert lines == [[number, number * 2**31] for number in numbers]
