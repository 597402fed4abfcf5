"""The consumer reads, positions and reports as the original does, on the same cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.testing import MockCluster
from tests.support.confluent_consumers import (
    PATIENCE,
    consumer_config,
    fill,
    next_message,
    read,
)


def test_messages_have_what_the_record_has(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    producer = either.Producer({"bootstrap.servers": cluster.bootstrap})
    headers = [("a", b"1"), ("a", None)]
    producer.produce(name, b"v", key=b"k", timestamp=1234, headers=headers)
    producer.produce(name)
    assert producer.flush(PATIENCE) == 0
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([name])
    first, second = read(consumer, 2)
    found = (
        *(first.topic(), first.partition(), first.offset(), first.key(), first.value()),
        *(first.headers(), first.timestamp(), len(first), first.latency()),
    )
    assert found == (name, 0, 0, b"k", b"v", headers, (1, 1234), 1, None)
    assert (second.key(), second.value(), second.headers(), len(second)) == (None, None, None, 0)
    consumer.close()


def test_consume_returns_up_to_so_many(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 25)
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.assign([either.TopicPartition(name, 0)])
    found: list[int] = []
    while len(found) < 25:
        messages = consumer.consume(10, 2.0)
        assert len(messages) <= 10
        found += [message.offset() for message in messages]
    assert found == list(range(25))
    assert consumer.consume(0) == []
    for wrong in (-1, 1_000_001):
        with pytest.raises(ValueError, match="num_messages"):
            consumer.consume(wrong)
    consumer.close()


@pytest.mark.parametrize(("offset", "first"), [(2, 2), (-2, 0), (-1, 5), (-2002, 3)], ids=str)
def test_an_assignment_begins_at_its_offset(
    either: Any, cluster: MockCluster, name: str, offset: int, first: int
) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name, enable_partition_eof=True))
    consumer.assign([either.TopicPartition(name, 0, offset)])
    assert next_message(consumer).offset() == first
    consumer.close()


def test_seek_pause_resume_and_position(peer: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 5, partitions=2)
    part = peer.TopicPartition
    consumer = peer.Consumer(consumer_config(cluster, name))
    consumer.assign([part(name, 0)])
    assert [item.offset for item in consumer.position([part(name, 0)])] == [peer.OFFSET_INVALID]
    assert [message.offset() for message in read(consumer, 3)] == [0, 1, 2]
    assert consumer.position([part(name, 0)])[0].offset == 3
    consumer.seek(part(name, 0, 1))
    assert read(consumer, 1)[0].offset() == 1
    consumer.pause([part(name, 0)])
    assert consumer.poll(0.05) is None
    consumer.incremental_assign([part(name, 1, 4)])
    assert read(consumer, 1)[0].partition() == 1
    consumer.resume([part(name, 0)])
    assert read(consumer, 1)[0].offset() == 2
    consumer.incremental_unassign([part(name, 0)])
    assert consumer.assignment() == [part(name, 1)]
    with pytest.raises(peer.KafkaException) as refused:
        consumer.incremental_assign([part(name, 1)])
    assert refused.value.args[0] == peer.KafkaError._CONFLICT
    with pytest.raises(peer.KafkaException) as refused:
        consumer.seek(part(f"{name}-other", 0, 1))
    assert refused.value.args[0] == peer.KafkaError._UNKNOWN_PARTITION
    consumer.unassign()
    assert consumer.assignment() == []
    consumer.close()


def test_the_end_of_a_partition_is_a_message_if_wanted(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name, 2)
    consumer = either.Consumer(consumer_config(cluster, name, enable_partition_eof=True))
    consumer.assign([either.TopicPartition(name, 0)])
    for expected in (2, 3):
        messages = [next_message(consumer) for _ in range(3 if expected == 2 else 2)]
        end = messages[-1]
        assert end.error() == either.KafkaError._PARTITION_EOF
        assert (end.topic(), end.partition(), end.offset()) == (name, 0, expected)
        assert all(message.error() is None for message in messages[:-1])
        assert consumer.poll(0.05) is None
        cluster.append(name, 0, [b"more"])
    consumer.close()


def test_an_end_is_reported_again_after_an_assignment_and_a_seek(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name, 2)
    part = either.TopicPartition
    consumer = either.Consumer(consumer_config(cluster, name, enable_partition_eof=True))
    for _ in range(2):
        consumer.assign([part(name, 0, either.OFFSET_END)])
        assert next_message(consumer).error() == either.KafkaError._PARTITION_EOF
    consumer.seek(part(name, 0, 2))
    assert next_message(consumer).error() == either.KafkaError._PARTITION_EOF
    consumer.close()


def test_without_a_reset_an_offset_that_is_missing_is_an_error(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name, auto_offset_reset="error"))
    consumer.assign([either.TopicPartition(name, 0)])
    message = next_message(consumer)
    assert message.error() == either.KafkaError._AUTO_OFFSET_RESET
    assert (message.topic(), message.partition()) == (name, 0)
    consumer.close()


def test_a_seek_continues_after_a_missing_offset(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name)
    consumer = peer.Consumer(consumer_config(cluster, name, auto_offset_reset="error"))
    consumer.assign([peer.TopicPartition(name, 0)])
    assert next_message(consumer).error() == peer.KafkaError._AUTO_OFFSET_RESET
    consumer.seek(peer.TopicPartition(name, 0, 4))
    assert read(consumer, 1)[0].offset() == 4
    consumer.close()


def test_offsets_of_the_cluster(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    cluster.delete_records(name, 0, 2)
    part = either.TopicPartition
    consumer = either.Consumer(consumer_config(cluster, name))
    assert consumer.get_watermark_offsets(part(name, 0), PATIENCE) == (2, 5)
    assert consumer.get_watermark_offsets(part(name, 0), cached=True) in {
        (either.OFFSET_INVALID, either.OFFSET_INVALID),
        (2, 5),
    }
    consumer.assign([part(name, 0)])
    read(consumer, 1)
    low, high = consumer.get_watermark_offsets(part(name, 0), cached=True)
    assert (low in {either.OFFSET_INVALID, 2}, high) == (True, 5)
    late, early = consumer.offsets_for_times([part(name, 0, 1 << 45)], PATIENCE) + (
        consumer.offsets_for_times([part(name, 0, 1)], PATIENCE)
    )
    assert (late.offset, early.offset) == (either.OFFSET_END, 2)
    for ask, about in (
        (consumer.offsets_for_times, [part(name, 9, 1)]),
        (consumer.get_watermark_offsets, part(name, 9)),
    ):
        with pytest.raises(either.KafkaException) as missing:
            ask(about, 0.5)
        assert missing.value.args[0] == either.KafkaError._UNKNOWN_PARTITION
    (none,) = consumer.committed([part(name, 0)], PATIENCE)
    assert none.offset == either.OFFSET_INVALID
    assert sorted(consumer.list_topics(name, PATIENCE).topics[name].partitions) == [0]
    consumer.close()
