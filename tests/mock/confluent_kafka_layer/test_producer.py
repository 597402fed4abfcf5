"""The producer never blocks, reports each message once, and calls back in poll and flush only."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from ottla.compat import confluent_kafka
from ottla.testing import Fault, MockCluster
from tests.support.waiting import wait_until

PATIENCE = 30.0


class Reports(list[tuple[Any, Any]]):
    """A callback that keeps its arguments and the thread that calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def __call__(self, error: Any, message: Any) -> None:
        self.threads.add(threading.get_ident())
        self.append((error, message))

    def codes(self) -> list[int | None]:
        """Return the code of each report, None for success."""
        return [None if error is None else error.code() for error, _ in self]


def test_reports_are_served_by_poll_and_flush_and_counted(
    either: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=2)
    producer, reports = either.Producer({"bootstrap.servers": cluster.bootstrap}), Reports()
    for number in range(10):
        producer.produce(name, f"v{number}", key="k", partition=1, on_delivery=reports)
    assert (len(producer), reports) == (10, [])
    assert producer.flush(PATIENCE) == 0
    assert (len(producer), len(reports)) == (0, 10)
    assert reports.threads == {threading.get_ident()}
    error, message = reports[3]
    found = (message.topic(), message.partition(), message.offset(), message.key(), message.value())
    assert (error, *found) == (None, name, 1, 3, b"k", b"v3")
    assert message.timestamp()[0] == either.TIMESTAMP_CREATE_TIME
    assert message.latency() >= 0
    producer.produce(name, None, on_delivery=reports)
    served = 0
    while not served:
        served = producer.poll(0.2)
    assert (served, len(reports), producer.poll(0)) == (1, 11, 0)
    assert producer.close()
    with pytest.raises(RuntimeError, match="Producer has been closed"):
        producer.produce(name, b"")
    assert len(producer) == 0


def test_keys_go_to_the_partitions_of_the_original(cluster: MockCluster, name: str) -> None:
    import confluent_kafka as original

    from ottla.compat import confluent_kafka as layer

    cluster.create_topic(name, partitions=7)
    places = []
    for peer in (original, layer):
        producer, reports = peer.Producer({"bootstrap.servers": cluster.bootstrap}), Reports()
        for number in range(50):
            producer.produce(name, b"", key=str(number), on_delivery=reports)
        assert producer.flush(PATIENCE) == 0
        places.append({message.key(): message.partition() for _, message in reports})
        producer.close()
    assert places[0] == places[1]


def test_produce_does_not_wait_for_a_topic_and_keeps_the_order(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    producer, reports = peer.Producer({"bootstrap.servers": cluster.bootstrap}), Reports()
    began = time.monotonic()
    for number in range(100):
        producer.produce(name, str(number), on_delivery=reports)
    assert time.monotonic() - began < 30
    assert (producer.flush(0), reports) == (100, [])
    cluster.create_topic(name, partitions=1)
    for number in range(100, 200):
        producer.produce(name, str(number), on_delivery=reports)
    assert producer.flush(PATIENCE) == 0
    assert [message.offset() for _, message in reports] == list(range(200))
    assert [int(message.value()) for _, message in reports] == list(range(200))
    producer.close()


def test_a_topic_that_does_not_appear_is_an_error_of_its_messages(
    either: Any, cluster: MockCluster, name: str
) -> None:
    config = {"bootstrap.servers": cluster.bootstrap, "topic.metadata.propagation.max.ms": 100}
    producer, reports = either.Producer(config), Reports()
    producer.produce(name, b"", on_delivery=reports)
    assert producer.flush(PATIENCE) == 0
    assert reports.codes() == [either.KafkaError.UNKNOWN_TOPIC_OR_PART]
    producer.close()


def test_a_partition_that_does_not_exist_is_an_error(
    peer: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=2)
    producer, reports = peer.Producer({"bootstrap.servers": cluster.bootstrap}), Reports()
    producer.produce(name, b"", partition=9, on_delivery=reports)
    producer.produce(name, b"", partition=1, on_delivery=reports)
    assert producer.flush(PATIENCE) == 0
    assert sorted(reports.codes(), key=str) == [peer.KafkaError._UNKNOWN_PARTITION, None]
    with pytest.raises(peer.KafkaException) as refused:
        producer.produce(name, b"", partition=9)
    assert refused.value.args[0] == peer.KafkaError._UNKNOWN_PARTITION
    assert len(producer) == 0
    producer.close()


def test_without_a_broker_messages_time_out(either: Any) -> None:
    producer, reports = either.Producer({"message.timeout.ms": 20}), Reports()
    producer.produce("t", b"v", callback=reports)
    producer.flush()
    assert reports.codes() == [either.KafkaError._MSG_TIMED_OUT]
    assert "Message timed out" in reports[0][0].str()
    assert producer.close()


@pytest.mark.parametrize("limit", [{"queue.buffering.max.messages": 3}, {}], ids=["count", "bytes"])
def test_a_full_queue_is_a_buffer_error_until_reports_are_served(
    either: Any, limit: dict[str, int]
) -> None:
    size = 10 if limit else 600
    config = limit or {"queue.buffering.max.kbytes": 1}
    producer = either.Producer({**config, "message.timeout.ms": 500})
    for _ in range(3 if limit else 1):
        producer.produce("t", b"x" * size)
    with pytest.raises(BufferError, match="Local: Queue full"):
        producer.produce("t", b"x" * size)
    while len(producer):
        producer.poll(0.1)
    producer.produce("t", b"x" * size)
    producer.purge()
    assert producer.flush(1) == 0


def test_purged_messages_are_reported(either: Any) -> None:
    producer, reports = either.Producer({}), Reports()
    producer.produce("t", b"", on_delivery=reports)
    producer.purge(in_queue=False)
    assert (producer.flush(0.01), reports) == (1, [])
    producer.purge()
    assert producer.flush(1) == 0
    assert reports.codes() == [either.KafkaError._PURGE_QUEUE]


def test_a_message_whose_topic_is_looked_up_is_purged(cluster: MockCluster, name: str) -> None:
    """The thread that looks topics up has taken it out of those that wait."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    reports = Reports()
    fault = cluster.inject(Fault.delay(0.5), api="Metadata")
    producer.produce(f"{name}-missing", b"", on_delivery=reports)
    wait_until(lambda: cluster.fault_hits(fault) > 0)
    producer.purge()
    assert producer.flush(PATIENCE) == 0
    assert reports.codes() == [confluent_kafka.KafkaError._PURGE_QUEUE]
    cluster.remove_fault(fault)


def test_purged_in_flight_is_reported_once(peer: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    producer, reports = peer.Producer({"bootstrap.servers": cluster.bootstrap}), Reports()
    producer.produce(name, b"")
    assert producer.flush(PATIENCE) == 0
    fault = cluster.inject(Fault.delay(1), api="Produce", times=1)
    producer.produce(name, b"", on_delivery=reports)
    producer.flush(0)
    # Until then it may be in the queue.
    wait_until(lambda: cluster.fault_hits(fault) > 0)
    producer.purge()
    assert producer.flush(PATIENCE) == 0
    assert reports.codes() == [peer.KafkaError._PURGE_INFLIGHT]
    cluster.clear_faults()
    producer.close()
    assert len(reports) == 1


def test_an_exception_of_a_callback_is_the_calls_and_loses_no_report(peer: Any) -> None:
    seen = []

    def report(error: Any, message: Any) -> None:
        seen.append(message.value())
        raise ValueError("of the callback")

    producer = peer.Producer({"on_delivery": report})
    for value in (b"1", b"2"):
        producer.produce("t", value)
    producer.purge()
    for _ in range(2):
        with pytest.raises(ValueError, match="of the callback"):
            producer.flush(1)
    assert seen == [b"1", b"2"]
    assert producer.flush(1) == 0


def test_only_errors_are_reported_if_wanted(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=1)
    reports = Reports()
    config = {"bootstrap.servers": cluster.bootstrap, "delivery.report.only.error": True}
    producer = either.Producer({**config, "on_delivery": reports})
    producer.produce(name, b"")
    assert producer.flush(PATIENCE) == 0
    producer.produce(f"{name}-missing", b"")
    producer.purge()
    assert producer.flush(PATIENCE) == 0
    assert reports.codes() == [either.KafkaError._PURGE_QUEUE]
    producer.close()


@pytest.mark.parametrize("headers", [("a", "b"), ["x"], {"a": 1}, [("a", 1)]], ids=str)
def test_headers_of_other_types_are_refused(either: Any, headers: Any) -> None:
    producer = either.Producer({})
    with pytest.raises(TypeError):
        producer.produce("t", headers=headers)
    assert len(producer) == 0


def test_a_batch_reports_which_messages_were_refused(either: Any) -> None:
    producer = either.Producer({"queue.buffering.max.messages": 2})
    messages: list[dict[str, Any]] = [{"value": str(number)} for number in range(4)]
    assert producer.produce_batch("t", messages) == 2
    assert [message["_error"].code() for message in messages[2:]] == [-184, -184]
    assert "_error" not in messages[0]
    for wrong in ([5], [{"value": 1}], [{"partition": "x"}], "text"):
        with pytest.raises(TypeError):
            producer.produce_batch("t", wrong)
    producer.purge()
    assert producer.flush(1) == 0


def test_a_message_that_is_too_large_is_refused(either: Any) -> None:
    producer = either.Producer({"message.max.bytes": 1000})
    with pytest.raises(either.KafkaException) as refused:
        producer.produce("t", b"x" * 2000)
    assert refused.value.args[0] == either.KafkaError.MSG_SIZE_TOO_LARGE
    assert len(producer) == 0


def test_metadata_of_topics_and_brokers(either: Any, cluster: MockCluster, name: str) -> None:
    cluster.create_topic(name, partitions=2)
    producer = either.Producer({"bootstrap.servers": cluster.bootstrap})
    metadata = producer.list_topics(name, timeout=PATIENCE)
    assert {broker.id for broker in metadata.brokers.values()} == {1, 2, 3}
    assert sorted(metadata.topics[name].partitions) == [0, 1]
    partition = metadata.topics[name].partitions[1]
    assert (partition.id, partition.leader) == (1, cluster.leader(name, 1))
    missing = producer.list_topics(f"{name}-missing", timeout=PATIENCE).topics[f"{name}-missing"]
    assert missing.error == either.KafkaError.UNKNOWN_TOPIC_OR_PART
    assert name in producer.list_topics(timeout=PATIENCE).topics
    assert producer.cluster_id(PATIENCE) == metadata.cluster_id
    producer.close()


def test_without_callbacks_for_them_nothing_looks_for_connections(peer: Any) -> None:
    before = set(threading.enumerate())
    with peer.Producer({"bootstrap.servers": "127.0.0.1:1"}):
        assert set(threading.enumerate()) <= before
    with peer.Producer({"bootstrap.servers": "127.0.0.1:1", "error_cb": print}):
        assert not set(threading.enumerate()) <= before


def test_errors_and_statistics_come_with_polls(peer: Any, cluster: MockCluster, name: str) -> None:
    errors: list[Any] = []
    producer = peer.Producer({"bootstrap.servers": "127.0.0.1:1", "error_cb": errors.append})
    deadline = time.monotonic() + PATIENCE
    while peer.KafkaError._ALL_BROKERS_DOWN not in errors and time.monotonic() < deadline:
        producer.poll(0.1)
    assert [error.code() for error in errors] == [
        peer.KafkaError._TRANSPORT,
        peer.KafkaError._ALL_BROKERS_DOWN,
    ]
    producer.close()
    cluster.create_topic(name, partitions=1)
    texts: list[str] = []
    config = {"statistics.interval.ms": 1, "stats_cb": texts.append}
    producer = peer.Producer({"bootstrap.servers": cluster.bootstrap, **config})
    producer.produce(name, b"value")
    assert producer.flush(PATIENCE) == 0
    producer.poll(1)
    found = json.loads(texts[-1])
    assert (found["type"], found["txmsgs"], found["msg_cnt"]) == ("producer", 1, 0)
    assert found["topics"][name]["topic"] == name
    assert {broker["state"] for broker in found["brokers"].values()} == {"UP"}
    producer.close()
