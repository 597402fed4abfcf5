"""librdkafka reads ottla's records and ottla reads librdkafka's: on real brokers, all codecs."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition

import ottla
from tests.support import confluent
from tests.support.arrow import read_rows, read_table
from tests.support.committed import committed_rows
from tests.support.consumers import KINDS, TIMEOUT, read
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

TopicFactory = Callable[..., str]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
WHEN = 1_700_000_000_000
# Keep records with old timestamps: retention must not delete them.
KEEP = {"retention.ms": "-1"}

RECORDS: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
    (None, None, []),
    (b"", b"", []),
    (b"key", b"value", [("h", b"1"), ("h", None), ("h", b"1"), ("other", b"")]),
    (bytes(range(256)), "ünï".encode(), [("ö", b"\x00\xff")]),
    (b"long", b"v" * 200_000, []),
    (b"large", bytes(range(256)) * 4096, []),
] * 5


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_reads_ottla_records(
    kafka: KafkaCluster, kafka_topic: TopicFactory, codec: str
) -> None:
    topic = kafka_topic(partitions=3, config={"max.message.bytes": "3000000", **KEEP})
    config = {"compression.type": codec, "max.request.size": 3_000_000}
    with ottla.Producer(kafka.bootstrap, config) as producer:
        deliveries = [
            producer.send(topic, value, key, headers=headers, timestamp=WHEN + i, partition=i % 3)
            for i, (key, value, headers) in enumerate(RECORDS)
        ]
    found = confluent.read_all(kafka.bootstrap, topic, range(3))
    assert len(found) == len(RECORDS)
    for i, (delivery, (key, value, headers)) in enumerate(zip(deliveries, RECORDS, strict=True)):
        metadata = delivery.result(timeout=60)
        assert metadata.offset is not None
        message = found[metadata.partition, metadata.offset]
        assert (message.key(), message.value()) == (key, value)
        assert (message.headers() or []) == headers
        assert message.timestamp() == (1, WHEN + i)


@pytest.mark.parametrize("codec", CODECS)
def test_ottla_reads_librdkafka_records(
    kafka: KafkaCluster, kafka_topic: TopicFactory, codec: str
) -> None:
    topic = kafka_topic(partitions=3, config={"max.message.bytes": "3000000", **KEEP})
    writer = confluent.producer(kafka.bootstrap, compression_type=codec, linger_ms=50)
    for i, (key, value, headers) in enumerate(RECORDS):
        writer.produce(topic, value, key, partition=i % 3, timestamp=WHEN + i, headers=headers)  # type: ignore[arg-type]
    assert writer.flush(120) == 0
    rows = {
        row["timestamp"].timestamp(): row
        for row in read_rows(ottla.scan(topic, kafka.bootstrap, include_headers=True))
    }
    assert len(rows) == len(RECORDS)
    for i, (key, value, headers) in enumerate(RECORDS):
        row = rows[(WHEN + i) / 1000]
        assert (row["key"], row["value"], row["partition"]) == (key, value, i % 3)
        assert [(h["key"], h["value"]) for h in row["headers"] or []] == headers


def test_key_partitions_match_librdkafka(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(partitions=7)
    writer = confluent.producer(kafka.bootstrap, partitioner="murmur2")
    keys = [f"key-{i}".encode() for i in range(500)]
    for key in keys:
        writer.produce(topic, b"v", key)
    assert writer.flush(120) == 0
    rows = read_rows(ottla.scan(topic, kafka.bootstrap))
    assert len(rows) == 500
    assert all(row["partition"] == ottla.partition_for_key(row["key"], 7) for row in rows)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_offsets_for_times_match_librdkafka(
    kafka: KafkaCluster, kafka_topic: TopicFactory, kind: str
) -> None:
    topic = kafka_topic(partitions=2, config={"message.timestamp.type": kind, **KEEP})
    with ottla.Client(kafka.bootstrap) as client:
        with ottla.Producer(client) as producer:
            for i in range(50):
                # Out of order, like real event times.
                stamp = WHEN + (i * 7919) % 500
                metadata = producer.send(topic, str(i), partition=i % 2, timestamp=stamp).result(
                    timeout=60
                )
        last = metadata.timestamp
        times = [
            0,
            1,
            WHEN - 1,
            WHEN,
            WHEN + 17,
            WHEN + 250,
            WHEN + 499,
            WHEN + 500,
            last - 30,
            last,
            last + 1,
        ]
        reader = confluent.consumer(kafka.bootstrap)
        try:
            for stamp in times:
                for partition in range(2):
                    query = [TopicPartition(topic, partition, stamp)]
                    expected = reader.offsets_for_times(query, timeout=60)[0].offset
                    ours = client.list_offsets({(topic, partition): stamp})[topic, partition].offset
                    # librdkafka returns -1, the end, if no record is that late.
                    assert ours == (None if expected == -1 else expected), (stamp, partition)
        finally:
            reader.close()


def test_compacted_topic_with_gaps(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic(
        config={
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "max.compaction.lag.ms": "200",
            "delete.retention.ms": "100",
        }
    )
    with ottla.Producer(kafka.bootstrap, linger_ms=0) as producer:
        for i in range(30):
            producer.send(topic, str(i), f"k{i % 5}").result(timeout=60)
        producer.send(topic, None, "k0").result(timeout=60)
        deadline = time.monotonic() + 240
        seen = 31
        while seen > 10 and time.monotonic() < deadline:
            time.sleep(0.5)
            # The active segment is never compacted: a new record rolls it.
            producer.send(topic, "tick", "tick").result(timeout=60)
            end = kafka.end_offset(topic)
            rows = read_rows(ottla.scan(topic, kafka.bootstrap, end=end))
            seen = sum(row["key"] != b"tick" for row in rows)
    assert seen <= 10, "the broker did not compact"
    end = kafka.end_offset(topic)
    rows = read_rows(ottla.scan(topic, kafka.bootstrap, end=end))
    assert len(rows) < end
    expected = confluent.read_all(kafka.bootstrap, topic, [0])
    newest = {row["key"]: row["value"] for row in rows}
    del newest[b"tick"]
    # Compaction may have removed a tombstone and the records that it deletes.
    assert newest.pop(b"k0", None) is None
    assert newest == {f"k{i}".encode(): str(25 + i).encode() for i in range(1, 5)}
    # Compaction may continue between the two reads: the second sees no more than the first.
    assert {(0, row["offset"]) for row in rows} >= set(expected)
    # A range inside a gap is empty: that is not data loss.
    assert read_table(ottla.scan(topic, kafka.bootstrap, start=1, end=3, timeout=60)).num_rows <= 2


def test_aborted_transactions(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic = kafka_topic()
    writer = confluent.producer(kafka.bootstrap, transactional_id=f"{topic}-writer")
    writer.init_transactions(120)
    for number in range(6):
        writer.begin_transaction()
        for i in range(10):
            writer.produce(topic, f"{number}-{i}")
        writer.flush(120)
        if number % 2:
            writer.abort_transaction(120)
        else:
            writer.commit_transaction(120)
    rows = committed_rows(kafka.bootstrap, topic)
    assert [row["value"].decode() for row in rows] == [
        f"{n}-{i}" for n in (0, 2, 4) for i in range(10)
    ]
    # Transaction markers take offsets but are not records: the log ends in one.
    assert len(read_rows(ottla.scan(topic, kafka.bootstrap))) == 60
    assert kafka.end_offset(topic) == 66
    for kind in KINDS.values():
        config = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        with kind(kafka.bootstrap, **config) as consumer:
            consumer.assign([(topic, 0)])
            records = read(consumer, 30)
            assert [record.value for record in records] == [row["value"] for row in rows]
            deadline = time.monotonic() + TIMEOUT
            while consumer.position(topic, 0) < kafka.end_offset(topic):
                assert time.monotonic() < deadline, consumer.position(topic, 0)
                assert consumer.poll(timeout=0.2) == []
            # An open transaction holds back the records after it.
            writer.begin_transaction()
            writer.produce(topic, "open")
            writer.flush(120)
            assert consumer.poll(timeout=1) == []
            writer.abort_transaction(120)
            assert consumer.poll(timeout=1) == []
