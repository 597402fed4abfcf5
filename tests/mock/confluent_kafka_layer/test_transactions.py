"""Transactions: what is committed is visible, and errors say what to do."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.testing import Fault, MockCluster

PATIENCE = 30.0


def _producer(peer: Any, cluster: MockCluster, name: str) -> Any:
    config = {"bootstrap.servers": cluster.bootstrap, "transactional.id": name}
    producer = peer.Producer(config)
    producer.init_transactions(PATIENCE)
    return producer


def _values(peer: Any, cluster: MockCluster, name: str, count: int) -> list[bytes]:
    config = {"bootstrap.servers": cluster.bootstrap, "group.id": f"{name}-reader"}
    consumer = peer.Consumer({**config, "auto.offset.reset": "earliest"})
    consumer.assign([peer.TopicPartition(name, 0)])
    found: list[bytes] = []
    while len(found) < count:
        found += [message.value() for message in consumer.consume(10, 1.0)]
    consumer.close()
    return found


def test_committed_messages_are_visible_and_aborted_ones_are_not(
    either: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=1)
    producer = _producer(either, cluster, name)
    reports: list[Any] = []
    for value, ends in (
        ("a", producer.commit_transaction),
        ("b", producer.abort_transaction),
        ("c", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(name, value, on_delivery=lambda error, _: reports.append(error))
        ends(PATIENCE)
    assert len(reports) == 3
    assert (reports[0], reports[2]) == (None, None)
    assert len(producer) == 0
    producer.close()
    assert _values(either, cluster, name, 2) == [b"a", b"c"]


def test_offsets_are_committed_with_the_transaction(
    either: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=1)
    consumer = either.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": name})
    producer = _producer(either, cluster, name)
    producer.begin_transaction()
    offsets = [either.TopicPartition(name, 0, 7), either.TopicPartition(name, 1)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
    producer.commit_transaction(PATIENCE)
    assert cluster.committed(name) == {(name, 0): 7}
    producer.close()
    consumer.close()


def test_offsets_are_committed_by_a_slow_coordinator(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=1)
    consumer = peer.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": name})
    producer = _producer(peer, cluster, name)
    producer.begin_transaction()
    cluster.inject(Fault.delay(0.2), api="AddOffsetsToTxn", times=1)
    cluster.inject(Fault.delay(0.2), api="TxnOffsetCommit", times=1)
    offsets = [peer.TopicPartition(name, 0, 7)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE)
    producer.commit_transaction(PATIENCE)
    assert cluster.committed(name) == {(name, 0): 7}
    producer.close()
    consumer.close()
    cluster.clear_faults()


def test_calls_in_the_wrong_state_are_refused(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    error = either.KafkaError
    with pytest.raises(either.KafkaException) as refused:
        either.Producer({}).begin_transaction()
    assert refused.value.args[0] == error._NOT_CONFIGURED
    producer = either.Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": name})
    with pytest.raises(either.KafkaException) as refused:
        producer.begin_transaction()
    assert refused.value.args[0] == error._STATE
    producer.init_transactions(PATIENCE)
    for call in (
        producer.commit_transaction,
        producer.abort_transaction,
        lambda: producer.produce(name, b""),
    ):
        with pytest.raises(either.KafkaException) as refused:
            call()
        assert refused.value.args[0] == error._STATE
    producer.close()


def test_a_call_that_timed_out_is_to_be_repeated(either: Any) -> None:
    producer = either.Producer({"transactional.id": "t"})
    with pytest.raises(either.KafkaException) as late:
        producer.init_transactions(0.05)
    found = late.value.args[0]
    assert (found.code(), found.retriable()) == (either.KafkaError._TIMED_OUT, True)
    assert not found.fatal()
    for call in (producer.begin_transaction, producer.commit_transaction):
        with pytest.raises(either.KafkaException) as refused:
            call()
        found = refused.value.args[0]
        assert (found.code(), found.retriable()) == (either.KafkaError._CONFLICT, True)


def test_a_newer_producer_fences(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    old = _producer(either, cluster, name)
    old.begin_transaction()
    old.produce(name, b"old")
    old.flush(PATIENCE)
    new = _producer(either, cluster, name)
    with pytest.raises(either.KafkaException) as fenced:
        old.commit_transaction(PATIENCE)
    found = fenced.value.args[0]
    assert (found.code(), found.fatal()) == (either.KafkaError._FENCED, True)
    new.begin_transaction()
    new.produce(name, b"new")
    new.commit_transaction(PATIENCE)
    new.close()
    assert _values(either, cluster, name, 1) == [b"new"]
