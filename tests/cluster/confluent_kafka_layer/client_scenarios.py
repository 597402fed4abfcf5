"""Scenarios of one producer and one consumer: what is written, and where it is read."""

from __future__ import annotations

import time
import uuid
from typing import Any

from tests.support.confluent_scenarios import (
    PATIENCE,
    Trace,
    consumer_config,
    plain,
    produce,
    read,
    wait_for,
)


def deliveries(peer: Any, bootstrap: str, topic: str) -> Trace:
    """Reports are served by polls, counted by ``len``, and there for each message."""
    trace: Trace = []

    def report(error: Any, message: Any) -> None:
        found = (message.topic() == topic, message.partition(), message.offset())
        more = (message.key(), message.value(), len(message), message.error(), message.headers())
        kind, millis = message.timestamp()
        trace.append((error, *found, *more, kind, millis, message.latency() > 0))

    producer = peer.Producer({"bootstrap.servers": bootstrap, "on_delivery": report})
    for number in range(3):
        producer.produce(topic, f"v{number}", key=b"k", partition=0, timestamp=1000 + number)
    producer.produce(topic, partition=0, timestamp=5000, callback=report, headers={"a": b"1"})
    trace.append(len(producer))
    wait_for(lambda: producer.poll(0.1) and not len(producer))
    trace.append((len(trace), producer.flush(PATIENCE), len(producer)))
    metadata = producer.list_topics(topic, timeout=PATIENCE)
    found = metadata.topics[topic]
    trace.append((len(metadata.brokers), sorted(found.partitions), found.error))
    trace.append(topic in producer.list_topics(timeout=PATIENCE).topics)
    producer.close()
    offline = peer.Producer({})
    offline.produce("t", b"v", on_delivery=lambda error, _: trace.append(error.name()))
    offline.purge()
    trace.append((offline.flush(PATIENCE), len(offline)))
    return trace


def positions(peer: Any, bootstrap: str, topic: str) -> Trace:
    """A consumer with an assignment of its own goes through two partitions, and to their ends."""
    produce(peer, bootstrap, topic, 10)
    config = consumer_config(bootstrap, enable_partition_eof=True, enable_auto_commit=False)
    consumer = peer.Consumer(config)
    part = peer.TopicPartition
    trace: Trace = []

    def note(*more: object) -> None:
        state = (plain(consumer.assignment()), plain(consumer.position([part(topic, 0)])))
        trace.append((*state, *more))

    def end(messages: list[Any]) -> tuple[object, ...]:
        error = messages[-1].error()
        at = (messages[-1].topic() == topic, messages[-1].partition(), messages[-1].offset())
        is_end = error == peer.KafkaError._PARTITION_EOF
        return (is_end, error.code(), error.name(), error.fatal(), error.retriable(), *at)

    consumer.assign([part(topic, 0, peer.OFFSET_BEGINNING)])
    first = read(consumer, 11)
    note([message.offset() for message in first], end(first))
    message = first[4]
    epoch = message.leader_epoch()
    trace.append((message.key(), message.value(), message.headers(), message.timestamp(), epoch))
    consumer.seek(part(topic, 0, 7))
    note([message.offset() for message in read(consumer, 4)])
    consumer.pause([part(topic, 0)])
    consumer.seek(part(topic, 0, 9))
    consumer.incremental_assign([part(topic, 1, peer.OFFSET_BEGINNING)])
    note(end(read(consumer, 1)))
    consumer.resume([part(topic, 0)])
    note([message.offset() for message in read(consumer, 2)])
    consumer.incremental_unassign([part(topic, 1)])
    note()
    consumer.commit(offsets=[part(topic, 0, 6)], asynchronous=False)
    consumer.assign([part(topic, 0, peer.OFFSET_STORED)])
    note(read(consumer, 1)[0].offset())
    consumer.assign([part(topic, 0, peer.OFFSET_END)])
    note(end(read(consumer, 1)))
    trace.append(consumer.get_watermark_offsets(part(topic, 0), PATIENCE))
    trace.append(consumer.get_watermark_offsets(part(topic, 0), cached=True)[1])
    times = [part(topic, 0, 1004), part(topic, 0, 99_999), part(topic, 0, 1)]
    found = [plain(consumer.offsets_for_times([time], timeout=PATIENCE)) for time in times]
    trace.append(found)
    trace.append(plain(consumer.committed([part(topic, 0), part(topic, 1)], PATIENCE)))
    trace.append(sorted(consumer.list_topics(topic, PATIENCE).topics[topic].partitions))
    consumer.unassign()
    note(consumer.poll(0.01))
    consumer.close()
    return trace


def exactly_once(peer: Any, bootstrap: str, topic: str) -> Trace:
    """A loop that reads, writes and commits its offsets in transactions; one is aborted."""
    produce(peer, bootstrap, topic, 4)
    consumer = peer.Consumer(consumer_config(bootstrap, enable_auto_commit=False))
    consumer.subscribe([topic])
    identity = f"once-{uuid.uuid4().hex[:8]}"
    producer = peer.Producer({"bootstrap.servers": bootstrap, "transactional.id": identity})
    producer.init_transactions(PATIENCE)
    trace: Trace = []
    for end in (producer.abort_transaction, producer.commit_transaction):
        messages = read(consumer, 2)
        producer.begin_transaction()
        for message in messages:
            producer.produce(topic, message.value(), partition=1)
        places = [part for part in consumer.position(consumer.assignment()) if part.offset >= 0]
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(places, group, PATIENCE)
        end(PATIENCE)
        parts = [peer.TopicPartition(topic, 0)]
        trace.append((plain(places), plain(consumer.committed(parts, PATIENCE))))
    consumer.close()
    reader = peer.Consumer(consumer_config(bootstrap))
    reader.assign([peer.TopicPartition(topic, 1)])
    trace.append([message.value() for message in read(reader, 2)])
    reader.close()
    producer.close()
    return trace


def open_transaction(peer: Any, bootstrap: str, topic: str) -> Trace:
    """A reader beside a transaction that is open, aborted and committed."""
    identity = f"open-{uuid.uuid4().hex[:8]}"
    producer = peer.Producer({"bootstrap.servers": bootstrap, "transactional.id": identity})
    producer.init_transactions(PATIENCE)
    consumer = peer.Consumer(consumer_config(bootstrap, enable_partition_eof=True))
    part = peer.TopicPartition(topic, 0)
    consumer.assign([part])
    trace: Trace = []
    deadline = time.monotonic() + PATIENCE
    for end, expected in (
        (producer.abort_transaction, (0, 2)),
        (producer.commit_transaction, (0, 4)),
    ):
        producer.begin_transaction()
        producer.produce(topic, b"v", partition=0)
        assert producer.flush(PATIENCE) == 0
        trace.append(consumer.get_watermark_offsets(part, PATIENCE))
        end(PATIENCE)
        # The end of the transaction is in the log, and shows a little later.
        while consumer.get_watermark_offsets(part, PATIENCE) != expected:
            assert time.monotonic() < deadline
    message = consumer.poll(PATIENCE)
    while message.error() is not None:  # ends of the partition
        message = consumer.poll(PATIENCE)
    trace.append((message.offset(), message.value()))
    producer.close()
    consumer.close()
    return trace
