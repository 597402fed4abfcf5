"""One line closes each warning once what it named works again, and a cut does not flood the log."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator

import pytest

import ottla
from ottla.errors import KafkaError
from ottla.testing import Fault, MockCluster

TIMEOUT = 30.0


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=2, auto_create_topics=False) as cluster:
        cluster.create_topic("orders", partitions=2)
        yield cluster


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[str], list[str]]:
    """The lines of the log, from INFO on, that match a pattern."""
    caplog.set_level(logging.INFO, "ottla")
    # The core copies Python's levels at most once a second, when a call begins.
    time.sleep(1.05)
    return lambda pattern: [
        record.getMessage() for record in caplog.records if re.search(pattern, record.getMessage())
    ]


def until(condition: Callable[[], object], step: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "not within the timeout"
        step()


def test_a_cut_is_told_and_closed_with_few_lines(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    """Regression: 22 INFO lines a second during a cut, and none after it."""
    topics, group = ["orders"], "g"
    with (
        ottla.Consumer(cluster.bootstrap, topics=topics, group_id=group) as consumer,
        ottla.ShareConsumer(cluster.bootstrap, topics=topics, group_id="s") as share,
        ottla.Producer(cluster.bootstrap) as producer,
    ):

        def step() -> None:
            consumer.poll(timeout=0.05)
            share.poll(timeout=0.05)
            producer.send("orders", b"value")

        producer.send("orders", b"value").result()
        until(lambda: consumer.assignment() and consumer.poll(timeout=0.05), step)
        for broker in cluster.brokers:
            cluster.stop_broker(broker)
        until(lambda: len(lines("^connecting to broker .* has been failing")) >= 4, step)
        failures = lines("bootstrap server failed")
        assert len(failures) <= 3 * len(cluster.brokers), "each client names each server once"
        assert not lines("recovered after")
        for broker in cluster.brokers:
            cluster.start_broker(broker)
        # A client needs not each broker again.
        recovered = r"^recovered after \d+ s: connecting to broker \d$"
        until(lambda: lines(recovered), step)
        assert len(lines(recovered)) <= len(lines("^connecting to broker"))


def test_a_missing_topic_that_appears(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    with ottla.Consumer(
        cluster.bootstrap, topics=["late"], group_id="g", allow_auto_create_topics=False
    ) as consumer:
        until(lambda: lines("^reading late has been failing"), lambda: consumer.poll(timeout=0.1))
        cluster.create_topic("late")
        recovered = r"^recovered after \d+ s: reading late"
        until(lambda: lines(recovered), lambda: consumer.poll(timeout=0.1))
        consumer.poll(timeout=0.5)
        assert len(lines(recovered)) == 1


def test_a_late_response_that_arrives(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    cluster.inject(Fault.delay(3), api="Produce", times=1)
    with ottla.Producer(cluster.bootstrap) as producer:
        assert producer.send("orders", b"value", partition=0).result().offset == 0
    until(
        lambda: lines(r"^recovered after \d+ s: waiting for a response from 127\.0\.0\.1:"),
        lambda: time.sleep(0.01),
    )
    assert len(lines("^waiting for a response for")) == 1


def test_calls_that_succeed_or_give_up(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    loading = Fault.error("COORDINATOR_LOAD_IN_PROGRESS")
    with ottla.Admin(cluster.bootstrap) as admin:
        cluster.inject(loading, api="OffsetFetch", times=None)
        with pytest.raises(KafkaError):
            admin.list_group_offsets(["g"], timeout=4)
        until(lambda: lines("has been failing"), lambda: time.sleep(0.01))
        cluster.clear_faults()
        assert not admin.list_group_offsets(["g"])["g"]
        assert not lines("recovered after"), "one gave up, and the other did not fail"
        cluster.inject(loading, api="OffsetFetch", times=6)
        assert not admin.list_group_offsets(["g"])["g"]
        recovered = r"^recovered after \d+ s: listing the offsets of groups"
        until(lambda: lines(recovered), lambda: time.sleep(0.01))


def test_a_server_of_another_protocol_is_told_once(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    """Regression: a warning that the server is tried for up to 60 s came before the error with the
    same text."""
    with pytest.raises(KafkaError, match="TLS"):
        ottla.Consumer(cluster.bootstrap, {"security.protocol": "SSL"})
    assert not lines("the cluster is not found yet")


def test_a_cluster_that_is_found_at_last(
    cluster: MockCluster, lines: Callable[[str], list[str]]
) -> None:
    cluster.inject(Fault.delay(2), api="ApiVersions", times=2)
    config = {"socket.connection.setup.timeout.ms": 300}
    with ottla.Admin(cluster.bootstrap, config):
        pass
    recovered = r"^recovered after \d+ s: finding the cluster$"
    until(lambda: lines(recovered), lambda: time.sleep(0.01))
    assert len(lines("the cluster is not found yet")) == 1
