"""Persistent failures of consumers and producers warn within seconds: once per cause, with the
location and the remedy."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator

import pytest

import ottla
from ottla import errors
from ottla.errors import KafkaError, UnknownTopicError
from ottla.testing import Fault, MockCluster
from tests.support.ports import free_ports

TIMEOUT = 60.0


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=3, auto_create_topics=False) as cluster:
        cluster.create_topic("orders", partitions=6)
        yield cluster


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    def reported() -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if record.name == "ottla.client" and record.levelno == logging.WARNING
        ]

    return reported


def poll_until_warned(consumer: ottla.Consumer, warnings: Callable[[], list[str]]) -> str:
    deadline = time.monotonic() + TIMEOUT
    while not warnings():
        assert time.monotonic() < deadline, "no warning within the timeout"
        assert consumer.poll(timeout=0.1) == []
    return warnings()[0]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_subscribing_to_a_missing_topic_warns(
    cluster: MockCluster, warnings: Callable[[], list[str]], protocol: str
) -> None:
    with ottla.Consumer(
        cluster.bootstrap,
        {"group.protocol": protocol},
        topics=["missing"],
        group_id="g",
        allow_auto_create_topics=False,
    ) as consumer:
        warning = poll_until_warned(consumer, warnings)
    assert "reading missing" in warning
    assert "the cluster has no topic of this name: create it, or correct the name" in warning


def test_assigning_a_missing_topic_warns_then_raises(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    with ottla.Consumer(cluster.bootstrap, default_api_timeout_ms=4_000) as consumer:
        consumer.assign([("order", 0)])
        warning = poll_until_warned(consumer, warnings)
        assert "the cluster has no topic of this name" in warning
        with pytest.raises(UnknownTopicError, match="no topic of this name") as caught:
            poll_until_error(consumer)
        assert caught.value.context["topic"] == "order"
        # The topic may be created later.
        cluster.create_topic("order")
        cluster.append("order", 0, [b"late"])
        consumer.seek("order", 0, 0)
        assert [record.value for record in poll_for_records(consumer)] == [b"late"]


def poll_until_error(consumer: ottla.Consumer) -> None:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        consumer.poll(timeout=0.5)


def poll_for_records(consumer: ottla.Consumer) -> list[ottla.Record]:
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        if records := consumer.poll(timeout=0.5):
            return records
    pytest.fail("no records")


def test_a_missing_partition_warning_names_the_existing_ones(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    with ottla.Consumer(cluster.bootstrap, default_api_timeout_ms=3_000) as consumer:
        consumer.assign([("orders", 17), ("orders", 18), ("orders", 0)])
        cluster.append("orders", 0, [b"good"])
        consumer.seek_to_beginning(("orders", 0))
        assert [record.value for record in poll_for_records(consumer)] == [b"good"]
        warning = poll_until_warned(consumer, warnings)
        assert "the topic's partitions are 0 to 5" in warning
        assert len(warnings()) == 1, "one warning for both partitions"
        with pytest.raises(UnknownTopicError, match="0 to 5"):
            poll_until_error(consumer)


def leader_and_another(cluster: MockCluster) -> tuple[int, str]:
    """Return the leader of orders-0 and the address of another broker."""
    leader = cluster.leader("orders", 0)
    assert leader is not None
    return leader, next(server for broker, server in cluster.brokers.items() if broker != leader)


def test_advertised_address_without_a_listener(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    leader, bootstrap = leader_and_another(cluster)
    cluster.advertise(leader, address)
    with ottla.Consumer(bootstrap) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning()
        warning = poll_until_warned(consumer, warnings)
        assert f"connecting to broker {leader} has been failing for" in warning
        assert f"the cluster advertises {address} for broker {leader}" in warning
        assert f"`ottla doctor {bootstrap}`" in warning
        states = {status.broker: status for status in consumer.connections()}
        assert states[leader].state != "connected"
        assert address in str(states[leader].last_error)
        assert consumer.metrics()["connection-creation-total"] >= 1
    assert len(warnings()) == 1, "the fetcher and the metadata fail for the same cause"


def test_a_silent_broker_is_reported_before_its_timeout(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    leader, bootstrap = leader_and_another(cluster)
    cluster.inject(Fault.silence(), api="ApiVersions", broker=leader)
    with ottla.Consumer(bootstrap, socket_connection_setup_timeout_ms=60_000) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning()
        warning = poll_until_warned(consumer, warnings)
    assert "the broker does not respond" in warning
    assert "phase ApiVersions" in warning


def test_producer_waiting_for_a_missing_topic(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    with ottla.Producer(cluster.bootstrap, max_block_ms=5_000) as producer:
        with pytest.raises(KafkaError, match="no topic of this name"):
            producer.send("new", b"value")
        assert [status.state for status in producer.connections()] == ["connected"]
    assert any("looking up new has been failing for" in warning for warning in warnings())


def test_a_full_buffer_error_names_the_cause(cluster: MockCluster) -> None:
    cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="Produce")
    with ottla.Producer(cluster.bootstrap, buffer_memory=100_000, max_block_ms=2_000) as producer:
        full = r"buffer\.memory .* stayed full .*: NOT_LEADER_OR_FOLLOWER"
        with pytest.raises(errors.TimeoutError, match=full) as caught:
            send_until_full(producer)
        assert caught.value.name == "NOT_LEADER_OR_FOLLOWER"
        cluster.clear_faults()
        producer.flush()


def send_until_full(producer: ottla.Producer) -> None:
    for _ in range(20):
        producer.send("orders", bytes(20_000), partition=0)


def test_transient_failures_do_not_warn(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    cluster.inject(Fault.error("NOT_LEADER_OR_FOLLOWER"), api="Fetch", times=1)
    cluster.inject(Fault.disconnect(), api="Fetch", times=1)
    cluster.append("orders", 0, [b"value"])
    with ottla.Consumer(cluster.bootstrap) as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning()
        assert len(poll_for_records(consumer)) == 1
    assert warnings() == []


@pytest.mark.parametrize("call", ["cluster", "list_offsets", "scan"])
def test_unknown_topic_errors_suggest_similar_names(cluster: MockCluster, call: str) -> None:
    calls: dict[str, Callable[[ottla.Client], object]] = {
        "cluster": lambda client: client.cluster(["ordres"]),
        "list_offsets": lambda client: client.list_offsets({("ordres", 0): "latest"}),
        "scan": lambda _: ottla.scan("ordres", cluster.bootstrap),
    }
    with ottla.Client(cluster.bootstrap) as client:
        began = time.monotonic()
        with pytest.raises(UnknownTopicError, match=r"did you mean orders\?"):
            calls[call](client)
        # A hang guard: the timeout of the call is a minute.
        assert time.monotonic() - began < 50


def test_events_of_consumers_and_producers(cluster: MockCluster) -> None:
    with (
        ottla.Consumer(cluster.bootstrap, events_metadata_max_age_ms=200) as consumer,
        ottla.Producer(cluster.bootstrap, events_metadata_max_age_ms=200) as producer,
    ):
        for user in (consumer, producer):
            events = user.events(all_topics=True)
            topic = f"new-{type(user).__name__}"
            cluster.create_topic(topic)
            assert any(event.topic == topic for event in events)


def test_events_of_asyncio_consumers_and_producers(cluster: MockCluster) -> None:
    async def has_failure_event(user: ottla.AsyncConsumer | ottla.AsyncProducer) -> bool:
        events = await user.events(all_topics=True)
        topic = f"new-{type(user).__name__}"
        cluster.create_topic(topic)
        async for event in events:
            if event.topic == topic:
                return True
        return False

    async def main() -> None:
        async with (
            ottla.AsyncConsumer(cluster.bootstrap, events_metadata_max_age_ms=200) as consumer,
            ottla.AsyncProducer(cluster.bootstrap, events_metadata_max_age_ms=200) as producer,
        ):
            assert consumer.metrics()["connection-count"] >= 1
            assert producer.connections()
            assert await has_failure_event(consumer)
            assert await has_failure_event(producer)

    asyncio.run(main())


def test_an_overdue_response_warns(cluster: MockCluster, warnings: Callable[[], list[str]]) -> None:
    """Regression: nothing was reported until request.timeout.ms, 30 s later."""
    cluster.inject(Fault.delay(8), api="Produce", times=1)
    with ottla.Producer(cluster.bootstrap) as producer:
        sent = producer.send("orders", b"value", partition=0)
        deadline = time.monotonic() + TIMEOUT
        while not warnings():
            assert time.monotonic() < deadline, "no warning within the timeout"
            time.sleep(0.1)
        [warning] = warnings()
        assert re.match(r"waiting for a response for [234] s: no response to Produce yet", warning)
        assert "the leader waits for an in-sync replica that is down or slow (acks=all)" in warning
        assert "`ottla doctor 127.0.0.1:" in warning
        assert "overloaded or hangs" in warning
        assert sent.result().offset == 0


def test_a_long_poll_is_not_overdue(
    cluster: MockCluster, warnings: Callable[[], list[str]]
) -> None:
    """A fetch at the end of a log waits for records: its response is not late."""
    with ottla.Consumer(cluster.bootstrap, fetch_max_wait_ms=7000) as consumer:
        consumer.assign([("orders", 0)])
        assert consumer.poll(timeout=8) == []
    assert warnings() == []
