"""Commits: what is stored is committed by a timer, on revocation and on close, and nothing else."""

from __future__ import annotations

import importlib
import time
from typing import Any

import pytest

from ottla.testing import MockCluster
from tests.mock.confluent_kafka_layer.conftest import LAYER
from tests.support.confluent_consumers import consumer_config, fill, poll_until, read
from tests.support.waiting import wait_until


def _manual(cluster: MockCluster, name: str, **more: Any) -> dict[str, Any]:
    return consumer_config(cluster, name, enable_auto_offset_store=False, **more)


def test_returned_messages_are_committed_on_close(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([name])
    read(consumer, 3)
    consumer.close()
    assert cluster.committed(name) == {(name, 0): 3}


def test_without_automatic_commits_nothing_is_committed(
    either: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name, enable_auto_commit=False))
    consumer.subscribe([name])
    read(consumer, 3)
    consumer.unsubscribe()
    consumer.close()
    assert cluster.committed(name) == {}


def test_only_stored_offsets_are_committed(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    consumer = either.Consumer(_manual(cluster, name))
    consumer.subscribe([name])
    messages = read(consumer, 4)
    consumer.store_offsets(messages[1])
    consumer.close()
    assert cluster.committed(name) == {(name, 0): 2}


def test_a_timer_commits_without_polls(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name, auto_commit_interval_ms=50))
    consumer.subscribe([name])
    read(consumer, 2)
    wait_until(lambda: cluster.committed(name) == {(name, 0): 2})
    consumer.close()


def test_stored_offsets_are_committed_on_revocation(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    fill(cluster, name)
    consumer = peer.Consumer(consumer_config(cluster, name))
    seen: list[Any] = []
    consumer.subscribe([name], on_revoke=lambda _, parts: seen.append(cluster.committed(name)))
    read(consumer, 2)
    consumer.unsubscribe()
    assert seen == [{}]
    assert cluster.committed(name) == {(name, 0): 2}
    consumer.close()


def test_every_form_of_a_commit(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    part = either.TopicPartition
    consumer = either.Consumer(consumer_config(cluster, name, enable_auto_commit=False))
    consumer.subscribe([name])
    messages = read(consumer, 3)
    (stored,) = consumer.commit(asynchronous=False)
    assert (stored.topic, stored.partition, stored.offset, stored.error) == (name, 0, 3, None)
    with pytest.raises(either.KafkaException) as nothing:
        consumer.commit(asynchronous=False)
    assert nothing.value.args[0] == either.KafkaError._NO_OFFSET
    (one,) = consumer.commit(message=messages[0], asynchronous=False)
    assert (one.offset, one.metadata) == (1, None)
    for wanted in (part(name, 0, 2, ""), part(name, 0, 2)):
        (one,) = consumer.commit(offsets=[wanted], asynchronous=False)
        assert one.metadata == wanted.metadata
    consumer.commit(offsets=[part(name, 0, 2, "metadata")], asynchronous=False)
    (found,) = consumer.committed([part(name, 0)], 30.0)
    assert (found.offset, found.metadata) == (2, "metadata")
    with pytest.raises(ValueError, match="mutually exclusive"):
        consumer.commit(message=messages[0], offsets=[part(name, 0, 2)])
    with pytest.raises(TypeError):
        consumer.commit(message=5)
    with pytest.raises(either.KafkaException) as refused:
        consumer.commit(message=either.Message(error=either.KafkaError(3)))
    assert refused.value.args[0] == either.KafkaError._INVALID_ARG
    consumer.close()


@pytest.mark.parametrize("metadata", [None, "", "text", "\N{SNOWMAN}"])
def test_metadata_is_read_by_the_original_and_the_reverse(
    cluster: MockCluster, name: str, metadata: str | None
) -> None:
    cluster.create_topic(name, partitions=1)
    modules: list[Any] = [importlib.import_module(each) for each in ("confluent_kafka", LAYER)]
    config = {"bootstrap.servers": cluster.bootstrap}
    consumers = [each.Consumer({**config, "group.id": name}) for each in modules]

    def committed() -> list[str | None]:
        found = []
        for module, consumer in zip(modules, consumers, strict=True):
            (part,) = consumer.committed([module.TopicPartition(name, 0)], 30.0)
            found.append(part.metadata)
        for module in modules:
            admin = importlib.import_module(f"{module.__name__}.admin").AdminClient(config)
            wanted = [module.ConsumerGroupTopicPartitions(name)]
            (future,) = admin.list_consumer_group_offsets(wanted).values()
            found.append(future.result(30).topic_partitions[0].metadata)
        return found

    more = () if metadata is None else (metadata,)
    for module, consumer in zip(modules, consumers, strict=True):
        part = module.TopicPartition(name, 0, 1, *more)
        consumer.commit(offsets=[part], asynchronous=False)
        assert committed() == [metadata] * 4
        admin = importlib.import_module(f"{module.__name__}.admin").AdminClient(config)
        wanted = [module.ConsumerGroupTopicPartitions(name, [part])]
        (future,) = admin.alter_consumer_group_offsets(wanted).values()
        assert future.result(30).topic_partitions[0].error is None
        assert committed() == [metadata] * 4
    for consumer in consumers:
        consumer.close()


def test_polls_report_asynchronous_commits(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    results: list[tuple[Any, list[Any]]] = []
    config = consumer_config(cluster, name, enable_auto_commit=False)
    config["on_commit"] = lambda error, parts: results.append((error, parts))
    consumer = either.Consumer(config)
    consumer.subscribe([name])
    (message,) = read(consumer, 1)
    assert consumer.commit(message=message) is None
    assert results == []
    poll_until(consumer, lambda: results)
    ((error, (part,)),) = results
    assert (error, part.topic, part.offset) == (None, name, 1)
    consumer.close()
    assert len(results) == 1


def test_an_exception_of_on_commit_is_the_polls(peer: Any, cluster: MockCluster, name: str) -> None:
    def on_commit(error: Any, parts: Any) -> None:
        raise ValueError("of the callback")

    fill(cluster, name)
    config = {**consumer_config(cluster, name, enable_auto_commit=False), "on_commit": on_commit}
    consumer = peer.Consumer(config)
    consumer.subscribe([name])
    read(consumer, 1)
    consumer.commit()
    with pytest.raises(ValueError, match="of the callback"):
        poll_until(consumer, lambda: False)
    consumer.close()


def test_store_offsets_needs_its_setting_and_an_assignment(
    either: Any, cluster: MockCluster, name: str
) -> None:
    part = either.TopicPartition(name, 0, 5)
    automatic = either.Consumer({"group.id": "g"})
    with pytest.raises(either.KafkaException) as refused:
        automatic.store_offsets(offsets=[part])
    assert refused.value.args[0] == either.KafkaError._INVALID_ARG
    automatic.close()
    consumer = either.Consumer({"group.id": "g", "enable.auto.offset.store": False})
    with pytest.raises(either.KafkaException) as refused:
        consumer.store_offsets(offsets=[part])
    assert refused.value.args[0] in {
        either.KafkaError._STATE,
        either.KafkaError._UNKNOWN_PARTITION,
    }
    for wrong in ({}, {"message": either.Message("t", 0, 1), "offsets": [part]}):
        with pytest.raises(ValueError, match=r"expected either|mutually exclusive"):
            consumer.store_offsets(**wrong)
    consumer.close()


def test_offsets_survive_a_crash_as_stored(peer: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name, 6)
    crashed = peer.Consumer(_manual(cluster, name, auto_commit_interval_ms=20))
    crashed.subscribe([name])
    messages = read(crashed, 4)
    crashed.store_offsets(messages[1])
    wait_until(lambda: cluster.committed(name) == {(name, 0): 2})
    group = cluster.group(name)
    assert group is not None
    cluster.expire_member(name, group.members[0].id)
    del crashed
    successor = peer.Consumer(consumer_config(cluster, name))
    successor.subscribe([name])
    began = time.monotonic()
    assert read(successor, 1)[0].offset() == 2
    assert time.monotonic() - began < 30
    successor.close()
