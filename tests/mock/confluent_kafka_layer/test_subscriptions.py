"""A consumer of a group: its subscription, its membership, and what it reports of them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ottla.testing import MockCluster
from tests.support.confluent_consumers import (
    consumer_config,
    fill,
    next_message,
    poll_until,
    read,
)


def test_a_topic_that_does_not_exist_is_an_error_once(
    either: Any, cluster: MockCluster, name: str
) -> None:
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([name])
    message = next_message(consumer)
    assert message.error() == either.KafkaError.UNKNOWN_TOPIC_OR_PART
    assert message.topic() == name
    assert message.value() == message.error().str().encode()
    consumer.close()


def test_patterns_are_prefixes(either: Any, cluster: MockCluster, name: str) -> None:
    for topic in (f"{name}-a", f"{name}-ab", f"x{name}"):
        fill(cluster, topic, 1)
    consumer = either.Consumer(consumer_config(cluster, name))
    consumer.subscribe([f"^{name}-a", f"x{name}"])
    topics = {message.topic() for message in read(consumer, 3)}
    assert topics == {f"{name}-a", f"{name}-ab", f"x{name}"}
    consumer.close()


@pytest.mark.parametrize("topics", [[], [""], ["a", "a"], ["^a["]], ids=str)
def test_invalid_subscriptions_are_refused(either: Any, topics: list[str]) -> None:
    consumer = either.Consumer({"group.id": "g"})
    with pytest.raises(either.KafkaException) as refused:
        consumer.subscribe(topics)
    assert refused.value.args[0] == either.KafkaError._INVALID_ARG
    with pytest.raises(TypeError):
        consumer.subscribe("a")
    with pytest.raises(TypeError):
        consumer.subscribe(["a"], on_assign=None)
    consumer.close()


def test_a_member_has_an_id(either: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    consumer = either.Consumer(consumer_config(cluster, name))
    assert consumer.memberid() is None
    consumer.subscribe([name])
    read(consumer, 1)
    assert consumer.memberid()
    consumer.close()


def test_a_member_whose_brokers_assign_has_an_id_before_it_joins(peer: Any) -> None:
    consumer = peer.Consumer({"group.id": "g", "group.protocol": "consumer"})
    identity = consumer.memberid()
    assert identity
    consumer.subscribe(["t"])
    assert consumer.memberid() == identity
    consumer.close()


def test_a_poll_that_came_too_late_is_an_error(peer: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    config = consumer_config(cluster, name, max_poll_interval_ms=300, session_timeout_ms=300)
    consumer = peer.Consumer(config)
    lost: list[Any] = []
    consumer.subscribe([name], on_lost=lambda _, parts: lost.extend(parts))
    read(consumer, 1)
    time.sleep(0.7)  # the application is busy
    assert next_message(consumer).error() == peer.KafkaError._MAX_POLL_EXCEEDED
    read(consumer, 1)
    assert lost == [peer.TopicPartition(name, 0)]
    consumer.close()


def test_statistics_have_the_lag_and_the_group(peer: Any, cluster: MockCluster, name: str) -> None:
    fill(cluster, name)
    texts: list[str] = []
    more = {"statistics_interval_ms": 1, "stats_cb": texts.append}
    config = consumer_config(cluster, name, **more)
    config["stats_cb"] = config.pop("stats.cb")
    consumer = peer.Consumer(config)
    consumer.subscribe([name])
    read(consumer, 2)
    consumer.commit(asynchronous=False)
    texts.clear()
    consumer.pause([peer.TopicPartition(name, 0)])
    poll_until(consumer, lambda: texts)
    found = json.loads(texts[0])
    partition = found["topics"][name]["partitions"]["0"]
    assert (partition["consumer_lag"], partition["lo_offset"], partition["hi_offset"]) == (3, 0, 5)
    assert (partition["stored_offset"], partition["committed_offset"]) == (2, 2)
    assert partition["leader"] == cluster.leader(name, 0)
    assert (found["cgrp"]["assignment_size"], found["cgrp"]["rebalance_cnt"]) == (1, 1)
    assert found["type"] == "consumer"
    consumer.close()
