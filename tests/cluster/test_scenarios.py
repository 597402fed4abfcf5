"""The basic scenarios, with the same results on the mock and on Apache Kafka."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

import ottla
from ottla import errors
from tests.cluster.conftest import Brokers
from tests.support.arrow import read_rows, read_table, values

START = datetime(2024, 1, 1, tzinfo=timezone.utc)
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def test_topology(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=3)
    with ottla.Client(brokers.bootstrap) as client:
        cluster = client.cluster([topic], timeout=60)
        assert {b.id: b.rack for b in cluster.brokers.values()} == {
            1: "rack-a",
            2: "rack-b",
            3: "rack-c",
        }
        assert cluster.cluster_id
        partitions = cluster.topics[topic].partitions
        assert {p.leader for p in partitions.values()} == {1, 2, 3}
        assert all(sorted(p.replicas) == [1, 2, 3] for p in partitions.values())
        assert all(client.leader(topic, i) == p.leader for i, p in partitions.items())
        assert topic in client.topic_names()


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip(brokers: Brokers, codec: str) -> None:
    topic = brokers.create_topic(partitions=3)
    sent = [
        (None, None, None),
        (b"", b"", []),
        (b"key", b"value", [("h", b"1"), ("h", None), ("h", b"1")]),
        ("ключ".encode(), bytes(range(256)), [("ö", b"")]),
        (b"k" * 1000, b"v" * 100_000, [("n", b"x" * 1000)]),
    ] * 20
    with ottla.Producer(brokers.bootstrap, {"compression.type": codec}) as producer:
        deliveries = [
            producer.send(
                topic, value, key, headers=headers, timestamp=START + timedelta(seconds=i)
            )
            for i, (key, value, headers) in enumerate(sent)
        ]
    numbers = {
        (p.result(timeout=60).partition, p.result(timeout=60).offset): i
        for i, p in enumerate(deliveries)
    }
    assert len(numbers) == 100
    rows = read_rows(ottla.scan(topic, brokers.bootstrap, include_headers=True))
    assert len(rows) == 100
    for row in rows:
        i = numbers[row["partition"], row["offset"]]
        key, value, headers = sent[i]
        found = row["headers"] and [(h["key"], h["value"]) for h in row["headers"]]
        assert (row["key"], row["value"], found) == (key, value, headers or None)
        assert row["timestamp"] == START + timedelta(seconds=i)
        assert row["timestampType"] == 0


def test_send_batch_of_a_table(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=3)
    count = 20_000
    table = pa.table(
        {
            "key": pa.array([f"key-{i % 101}" for i in range(count)], pa.string_view()),
            "value": pa.array([f"value-{i}".encode() for i in range(count)], pa.large_binary()),
        }
    )
    with ottla.Producer(brokers.bootstrap, compression_type="zstd") as producer:
        assert producer.send_batch(topic, table).result(timeout=60) == count
    rows = read_rows(ottla.scan(topic, brokers.bootstrap))
    assert sorted(row["value"] for row in rows) == sorted(table["value"].to_pylist())
    assert all(row["partition"] == ottla.partition_for_key(row["key"], 3) for row in rows)
    by_key: dict[bytes, list[int]] = {}
    for row in rows:
        by_key.setdefault(row["key"], []).append(int(row["value"][6:]))
    assert all(order == sorted(order) for order in by_key.values())


def test_bounds(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Client(brokers.bootstrap) as client:
        with ottla.Producer(client) as producer:
            when = [START + timedelta(seconds=i) for i in range(20)]
            producer.send_batch(topic, [str(i) for i in range(20)], timestamps=when).result(
                timeout=60
            )

        def read(**bounds: object) -> list[int]:
            return [int(v or b"") for v in values(ottla.scan(topic, client, **bounds))]  # type: ignore[arg-type]

        assert read() == list(range(20))
        assert read(start=5, end=7) == [5, 6]
        assert read(start={0: 18}) == [18, 19]
        assert read(start=when[3], end=when[6] - timedelta(seconds=0.5)) == [3, 4, 5]
        assert read(start=when[19] + timedelta(seconds=1)) == []
        assert read(start="latest") == []
        assert read(end="earliest") == []
        assert read(max_rows=3) == list(range(20))
        assert read_table(ottla.scan(topic, client, columns=["offset"]))[
            "offset"
        ].to_pylist() == list(range(20))
        offsets = client.list_offsets({(topic, 0): int(when[7].timestamp() * 1000)})
        assert offsets[topic, 0].offset == 7


def test_largest_timestamp(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Client(brokers.bootstrap) as client:
        with ottla.Producer(client) as producer:
            when = [START + timedelta(seconds=i % 3) for i in range(6)]
            producer.send_batch(topic, list("abcdef"), timestamps=when).result(timeout=60)
        assert client.list_offsets({(topic, 0): "max_timestamp"})[topic, 0].offset == 2


def test_deleted_records(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Client(brokers.bootstrap) as client:
        with ottla.Producer(client) as producer:
            producer.send_batch(topic, [str(i) for i in range(20)]).result(timeout=60)
        brokers.delete_records(topic, 0, 8)
        assert client.list_offsets({(topic, 0): "earliest"})[topic, 0].offset == 8
        assert len(values(ottla.scan(topic, client))) == 12
        with pytest.raises(errors.DataLossError, match="records from offset 3 to 8 are gone"):
            list(ottla.scan(topic, client, start=3, timeout=60))
        skipped = ottla.scan(topic, client, start=3, fail_on_data_loss=False, timeout=60)
        assert [int(v or b"") for v in values(skipped)] == list(range(8, 20))


def test_log_append_time(brokers: Brokers) -> None:
    topic = brokers.create_topic(config={"message.timestamp.type": "LogAppendTime"})
    with ottla.Producer(brokers.bootstrap) as producer:
        metadata = producer.send(topic, "v", timestamp=5).result(timeout=60)
    row = read_rows(ottla.scan(topic, brokers.bootstrap))[0]
    assert row["timestampType"] == 1
    assert row["timestamp"].timestamp() * 1000 == pytest.approx(metadata.timestamp)
    assert abs(datetime.now(timezone.utc) - row["timestamp"]) < timedelta(minutes=1)


def test_large_values(brokers: Brokers) -> None:
    topic = brokers.create_topic(config={"max.message.bytes": "3000000"})
    value = bytes(range(256)) * 4096 * 2
    with ottla.Producer(brokers.bootstrap, max_request_size=3_000_000) as producer:
        deliveries = [producer.send(topic, value) for _ in range(5)]
        assert [p.result(timeout=60).offset for p in deliveries] == list(range(5))
    assert values(ottla.scan(topic, brokers.bootstrap)) == [value] * 5


def test_too_large_for_the_topic(brokers: Brokers) -> None:
    topic = brokers.create_topic(config={"max.message.bytes": "10000"})
    with ottla.Producer(brokers.bootstrap) as producer:
        error = producer.send(topic, b"x" * 20_000).exception(timeout=60)
        assert isinstance(error, errors.RecordTooLargeError)
        assert error.name == "MESSAGE_TOO_LARGE"
        assert producer.send(topic, b"x").result(timeout=60).offset == 0


def test_tombstones_need_keys_on_compacted_topics(brokers: Brokers) -> None:
    topic = brokers.create_topic(config={"cleanup.policy": "compact"})
    with ottla.Producer(brokers.bootstrap) as producer:
        error = producer.send(topic, "no key").exception(timeout=60)
        assert isinstance(error, errors.BrokerError)
        assert error.name == "INVALID_RECORD"
        assert producer.send(topic, None, "key").result(timeout=60).offset == 0


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_acks(brokers: Brokers, acks: str) -> None:
    topic = brokers.create_topic()
    with ottla.Producer(brokers.bootstrap, {"acks": acks}) as producer:
        offset = producer.send(topic, "v").result(timeout=60).offset
        assert offset == (None if acks == "0" else 0)


def test_unknown_topic(brokers: Brokers) -> None:
    # Enough for the brokers to respond that the topic does not exist.
    seconds = 4.0
    with (
        ottla.Client(brokers.bootstrap) as client,
        ottla.Producer(brokers.bootstrap, max_block_ms=int(seconds * 1000)) as producer,
    ):
        calls: list[Callable[[], object]] = [
            lambda: client.cluster(["nowhere"], timeout=seconds),
            lambda: ottla.scan("nowhere", client, timeout=seconds),
            lambda: client.list_offsets({("nowhere", 0): "latest"}, timeout=seconds),
        ]
        if not brokers.is_mock:
            calls.append(lambda: producer.send("nowhere", "v"))

        def unknown_topic_error(call: Callable[[], object]) -> errors.UnknownTopicError:
            with pytest.raises(errors.UnknownTopicError, match="nowhere") as raised:
                call()
            return raised.value

        with ThreadPoolExecutor(len(calls)) as pool:
            for error in pool.map(unknown_topic_error, calls):
                assert error.name == "UNKNOWN_TOPIC_OR_PARTITION"


def test_unknown_option(brokers: Brokers) -> None:
    with pytest.raises(errors.ConfigError, match=r"unknown .*linger_mss.*did you mean linger.ms"):
        ottla.Client(brokers.bootstrap, linger_mss=5)  # type: ignore[call-arg]


def test_illegal_topic_name(brokers: Brokers) -> None:
    with (
        ottla.Client(brokers.bootstrap) as client,
        pytest.raises(errors.UnknownTopicError, match="INVALID_TOPIC"),
    ):
        client.cluster(["not a topic!"], timeout=30)
