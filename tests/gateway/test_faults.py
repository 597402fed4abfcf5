"""Clients of real brokers that seem to misbehave: nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import confluent_kafka
import pytest

import ottla
from ottla.testing import Fault, Gateway
from tests.support.arrow import values
from tests.support.waiting import wait_until

TIMEOUT = 60.0
SENT = [b"%03d" % n for n in range(60)]


@pytest.fixture(autouse=True)
def _without_faults(gateway: Gateway) -> Iterator[None]:
    yield
    gateway.clear_faults()


def _produce_ottla(bootstrap: str, topic: str) -> None:
    config = {"enable.idempotence": True, "linger.ms": 0, "request.timeout.ms": 2000}
    with ottla.Producer(bootstrap, {**config, "client.id": "under-test"}) as producer:
        sent = []
        for number, value in enumerate(SENT):
            sent.append(producer.send(topic, value, partition=0))
            if number % 5 == 4:
                sent[-1].result(timeout=TIMEOUT)
        for delivery in sent:
            delivery.result(timeout=TIMEOUT)


def _produce_librdkafka(bootstrap: str, topic: str) -> None:
    failed: list[Any] = []
    config = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 0}
    config |= {"client.id": "under-test", "socket.timeout.ms": 2000, "reconnect.backoff.ms": 10}
    producer = confluent_kafka.Producer(config)
    for number, value in enumerate(SENT):
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: failed.append(error)
        )
        if number % 5 == 4:
            assert producer.flush(TIMEOUT) == 0
    assert producer.flush(TIMEOUT) == 0
    assert failed == [None] * len(SENT)


PRODUCERS = {"ottla": _produce_ottla, "librdkafka": _produce_librdkafka}
AT_PRODUCERS = {
    "a lost response": Fault.disconnect("after"),
    "a lost request": Fault.disconnect("before"),
    "half a response": Fault.truncate_frame(),
    "no response": Fault.silence(),
    "a late request": Fault.delay(0.5),
    "an error": Fault.error("NOT_ENOUGH_REPLICAS"),
    "an error of a request that was handled": Fault.error_after_handling("REQUEST_TIMED_OUT"),
}


@pytest.mark.parametrize("client", PRODUCERS)
@pytest.mark.parametrize("kind", AT_PRODUCERS)
def test_a_producer_with_idempotence(gateway: Gateway, topic: str, client: str, kind: str) -> None:
    fault = gateway.inject(
        AT_PRODUCERS[kind], api="Produce", topic=topic, client_id="under-test", skip=1, times=3
    )
    PRODUCERS[client](gateway.bootstrap, topic)
    assert gateway.fault_hits(fault) == 3
    assert values(ottla.scan(topic, gateway.bootstrap, timeout=TIMEOUT)) == SENT


def _read_ottla(bootstrap: str, topic: str) -> list[bytes | None]:
    return values(ottla.scan(topic, bootstrap, timeout=TIMEOUT))


def _read_librdkafka(bootstrap: str, topic: str) -> list[bytes | None]:
    config = {"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False}
    config |= {"auto.offset.reset": "earliest", "reconnect.backoff.ms": 10, "check.crcs": True}
    consumer = confluent_kafka.Consumer(config)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[bytes | None] = []

    def has_read() -> bool:
        polled = consumer.consume(100, 0.2)
        found.extend(message.value() for message in polled if message.error() is None)
        return len(found) >= len(SENT)

    try:
        wait_until(has_read)
    finally:
        consumer.close()
    return found


READERS = {"ottla": _read_ottla, "librdkafka": _read_librdkafka}
AT_READERS = {
    "a lost response": Fault.disconnect("after"),
    "a corrupt record": Fault.corrupt_records(),
    "half a response": Fault.truncate_frame(),
    "an error": Fault.error("NOT_LEADER_OR_FOLLOWER"),
    "a cut": Fault.cut(300),
    "a slow link": Fault.slow(5_000),
}


@pytest.mark.parametrize("client", READERS)
@pytest.mark.parametrize("kind", AT_READERS)
def test_a_reader(gateway: Gateway, topic: str, client: str, kind: str) -> None:
    _produce_ottla(gateway.bootstrap, topic)
    fault = gateway.inject(AT_READERS[kind], api="Fetch", topic=topic, times=2)
    assert READERS[client](gateway.bootstrap, topic) == SENT
    assert gateway.fault_hits(fault) >= 1


@pytest.mark.parametrize("client", PRODUCERS)
def test_a_frozen_broker(
    gateway: Gateway, topic: str, client: str, in_background: Callable[..., Any]
) -> None:
    with ottla.Client(gateway.bootstrap) as asking:
        leader = asking.partitions_for(topic)[0].leader
    assert leader is not None
    fault = gateway.inject(Fault.freeze(), broker=leader)
    running = in_background(PRODUCERS[client], gateway.bootstrap, topic)
    # It gives up a connection, which is closed at the gateway too, and makes another one.
    seen: set[int] = set()

    def has_come_again() -> bool:
        seen.update(one.id for one in gateway.connections() if one.broker == leader)
        return len(seen) >= 2

    wait_until(has_come_again)
    assert not running.done()
    assert gateway.remove_fault(fault)
    running.result(timeout=TIMEOUT)
    assert values(ottla.scan(topic, gateway.bootstrap, timeout=TIMEOUT)) == SENT


@pytest.fixture
def in_background() -> Iterator[Callable[..., Any]]:
    """Runs a function in a thread."""
    with ThreadPoolExecutor(1) as executor:
        yield executor.submit
