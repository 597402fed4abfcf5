"""The consumer reads, positions and reports as the original does, on the same cluster."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from ottla.testing import MockCluster

PATIENCE = 30.0


def _config(cluster: MockCluster, group: str, **more: Any) -> dict[str, Any]:
    keys = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        **keys,
    }


def _fill(cluster: MockCluster, name: str, count: int = 5, partitions: int = 1) -> None:
    cluster.create_topic(name, partitions=partitions)
    for partition in range(partitions):
        cluster.append(name, partition, [b"%d" % number for number in range(count)])


def _poll(consumer: Any) -> Any:
    """Return the next message or error."""
    deadline = time.monotonic() + PATIENCE
    while (message := consumer.poll(0.5)) is None:
        assert time.monotonic() < deadline
    return message


def _read(consumer: Any, count: int) -> list[Any]:
    """Return so many messages."""
    found: list[Any] = []
    while len(found) < count:
        message = _poll(consumer)
        assert message.error() is None, message.error()
        found.append(message)
    return found


def _poll_until(consumer: Any, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        consumer.poll(0.05)


def test_messages_have_what_the_record_has(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    producer = either.Producer({"bootstrap.servers": cluster.bootstrap})
    headers = [("a", b"1"), ("a", None)]
    producer.produce(name, b"v", key=b"k", timestamp=1234, headers=headers)
    producer.produce(name)
    assert producer.flush(PATIENCE) == 0
    consumer = either.Consumer(_config(cluster, name))
    consumer.subscribe([name])
    first, second = _read(consumer, 2)
    found = (
        *(first.topic(), first.partition(), first.offset(), first.key(), first.value()),
        *(first.headers(), first.timestamp(), len(first), first.latency()),
    )
    assert found == (name, 0, 0, b"k", b"v", headers, (1, 1234), 1, None)
    assert (second.key(), second.value(), second.headers(), len(second)) == (None, None, None, 0)
    consumer.close()


def test_consume_returns_up_to_so_many(either: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name, 25)
    consumer = either.Consumer(_config(cluster, name))
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
    _fill(cluster, name)
    consumer = either.Consumer(_config(cluster, name, enable_partition_eof=True))
    consumer.assign([either.TopicPartition(name, 0, offset)])
    assert _poll(consumer).offset() == first
    consumer.close()


def test_seek_pause_resume_and_position(peer: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name, 5, partitions=2)
    part = peer.TopicPartition
    consumer = peer.Consumer(_config(cluster, name))
    consumer.assign([part(name, 0)])
    assert [item.offset for item in consumer.position([part(name, 0)])] == [peer.OFFSET_INVALID]
    assert [message.offset() for message in _read(consumer, 3)] == [0, 1, 2]
    assert consumer.position([part(name, 0)])[0].offset == 3
    consumer.seek(part(name, 0, 1))
    assert _read(consumer, 1)[0].offset() == 1
    consumer.pause([part(name, 0)])
    assert consumer.poll(0.05) is None
    consumer.incremental_assign([part(name, 1, 4)])
    assert _read(consumer, 1)[0].partition() == 1
    consumer.resume([part(name, 0)])
    assert _read(consumer, 1)[0].offset() == 2
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
    _fill(cluster, name, 2)
    consumer = either.Consumer(_config(cluster, name, enable_partition_eof=True))
    consumer.assign([either.TopicPartition(name, 0)])
    for expected in (2, 3):
        messages = [_poll(consumer) for _ in range(3 if expected == 2 else 2)]
        end = messages[-1]
        assert end.error() == either.KafkaError._PARTITION_EOF
        assert (end.topic(), end.partition(), end.offset()) == (name, 0, expected)
        assert all(message.error() is None for message in messages[:-1])
        assert consumer.poll(0.05) is None
        cluster.append(name, 0, [b"more"])
    consumer.close()


def test_without_a_reset_an_offset_that_is_missing_is_an_error(
    either: Any, cluster: MockCluster, name: str
) -> None:
    _fill(cluster, name)
    consumer = either.Consumer(_config(cluster, name, auto_offset_reset="error"))
    consumer.assign([either.TopicPartition(name, 0)])
    message = _poll(consumer)
    assert message.error() == either.KafkaError._AUTO_OFFSET_RESET
    assert (message.topic(), message.partition()) == (name, 0)
    consumer.close()


def test_a_seek_continues_after_a_missing_offset(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    _fill(cluster, name)
    consumer = peer.Consumer(_config(cluster, name, auto_offset_reset="error"))
    consumer.assign([peer.TopicPartition(name, 0)])
    assert _poll(consumer).error() == peer.KafkaError._AUTO_OFFSET_RESET
    consumer.seek(peer.TopicPartition(name, 0, 4))
    assert _read(consumer, 1)[0].offset() == 4
    consumer.close()


def test_a_topic_that_does_not_exist_is_an_error_once(
    either: Any, cluster: MockCluster, name: str
) -> None:
    consumer = either.Consumer(_config(cluster, name))
    consumer.subscribe([name])
    message = _poll(consumer)
    assert message.error() == either.KafkaError.UNKNOWN_TOPIC_OR_PART
    assert message.topic() == name
    assert message.value() == message.error().str().encode()
    consumer.close()


def test_patterns_are_prefixes(either: Any, cluster: MockCluster, name: str) -> None:
    for topic in (f"{name}-a", f"{name}-ab", f"x{name}"):
        _fill(cluster, topic, 1)
    consumer = either.Consumer(_config(cluster, name))
    consumer.subscribe([f"^{name}-a", f"x{name}"])
    topics = {message.topic() for message in _read(consumer, 3)}
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


def test_offsets_of_the_cluster(either: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name)
    cluster.delete_records(name, 0, 2)
    part = either.TopicPartition
    consumer = either.Consumer(_config(cluster, name))
    assert consumer.get_watermark_offsets(part(name, 0), PATIENCE) == (2, 5)
    assert consumer.get_watermark_offsets(part(name, 0), cached=True) in {
        (either.OFFSET_INVALID, either.OFFSET_INVALID),
        (2, 5),
    }
    consumer.assign([part(name, 0)])
    _read(consumer, 1)
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


def test_a_member_has_an_id(either: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name)
    consumer = either.Consumer(_config(cluster, name))
    assert consumer.memberid() is None
    consumer.subscribe([name])
    _read(consumer, 1)
    assert consumer.memberid()
    consumer.close()


def test_a_member_whose_brokers_assign_has_an_id_before_it_joins(peer: Any) -> None:
    consumer = peer.Consumer({"group.id": "g", "group.protocol": "consumer"})
    consumer.subscribe(["t"])
    identity = consumer.memberid()
    assert identity
    assert consumer.memberid() == identity
    consumer.close()


def test_after_close_every_call_is_an_error(either: Any) -> None:
    consumer = either.Consumer({"group.id": "g"})
    consumer.close()
    consumer.close()
    part = either.TopicPartition("t", 0, 1)
    calls = {
        "assign": ([part],),
        "assignment": (),
        "commit": (),
        "committed": ([part],),
        "consume": (),
        "consumer_group_metadata": (),
        "get_watermark_offsets": (part,),
        "incremental_assign": ([part],),
        "memberid": (),
        "offsets_for_times": ([part],),
        "pause": ([part],),
        "poll": (),
        "position": ([part],),
        "seek": (part,),
        "store_offsets": (None, [part]),
        "subscribe": (["t"],),
        "unassign": (),
        "unsubscribe": (),
    }
    for call, arguments in calls.items():
        with pytest.raises(RuntimeError, match="Consumer closed"):
            getattr(consumer, call)(*arguments)
    for call in ("list_topics", "cluster_id"):
        with pytest.raises(RuntimeError, match="Handle has been closed"):
            getattr(consumer, call)()


def test_a_poll_that_is_closed_by_another_thread_ends(peer: Any) -> None:
    consumer = peer.Consumer({"group.id": "g"})
    consumer.assign([peer.TopicPartition("t", 0)])
    ends: list[str] = []

    def poll() -> None:
        try:
            while True:
                consumer.poll(PATIENCE)
        except RuntimeError as error:
            ends.append(str(error))

    thread = threading.Thread(target=poll)
    thread.start()
    consumer.close()
    thread.join(PATIENCE)
    assert ends == ["Consumer closed"]


def test_a_subclass_that_forgets_its_base_is_closed(either: Any) -> None:
    class Forgetful(either.Consumer):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    with pytest.raises(RuntimeError, match="Consumer closed"):
        Forgetful().poll()


def test_without_a_broker_calls_time_out(either: Any) -> None:
    consumer = either.Consumer({"group.id": "g"})
    part = either.TopicPartition("t", 0, 1)
    assert consumer.poll(0.01) is None
    assert consumer.consume(5, 0.01) == []
    for call in (consumer.list_topics, lambda timeout: consumer.committed([part], timeout=timeout)):
        with pytest.raises(either.KafkaException) as late:
            call(timeout=0.05)
        assert late.value.args[0].code() in {-185, -195}
    consumer.close()


def test_a_poll_that_came_too_late_is_an_error(peer: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name)
    config = _config(cluster, name, max_poll_interval_ms=300, session_timeout_ms=300)
    consumer = peer.Consumer(config)
    lost: list[Any] = []
    consumer.subscribe([name], on_lost=lambda _, parts: lost.extend(parts))
    _read(consumer, 1)
    time.sleep(0.7)  # the application is busy
    assert _poll(consumer).error() == peer.KafkaError._MAX_POLL_EXCEEDED
    _read(consumer, 1)
    assert lost == [peer.TopicPartition(name, 0)]
    consumer.close()


def test_statistics_have_the_lag_and_the_group(peer: Any, cluster: MockCluster, name: str) -> None:
    _fill(cluster, name)
    texts: list[str] = []
    more = {"statistics_interval_ms": 1, "stats_cb": texts.append}
    config = _config(cluster, name, **more)
    config["stats_cb"] = config.pop("stats.cb")
    consumer = peer.Consumer(config)
    consumer.subscribe([name])
    _read(consumer, 2)
    consumer.commit(asynchronous=False)
    texts.clear()
    consumer.pause([peer.TopicPartition(name, 0)])
    _poll_until(consumer, lambda: texts)
    found = json.loads(texts[0])
    partition = found["topics"][name]["partitions"]["0"]
    assert (partition["consumer_lag"], partition["lo_offset"], partition["hi_offset"]) == (3, 0, 5)
    assert (partition["stored_offset"], partition["committed_offset"]) == (2, 2)
    assert partition["leader"] == cluster.leader(name, 0)
    assert (found["cgrp"]["assignment_size"], found["cgrp"]["rebalance_cnt"]) == (1, 1)
    assert found["type"] == "consumer"
    consumer.close()
