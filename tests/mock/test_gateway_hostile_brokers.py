"""A broker whose responses are wrong: only its own clients notice, and the gateway stays small."""

from __future__ import annotations

import struct
import threading
import uuid
from collections.abc import Iterator

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.faulty_broker import Answer, FaultyBroker, faulty_brokers
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.hostile_gateways import (
    API_VERSIONS,
    METADATA,
    Bystander,
    connect,
    read_frame,
    seeds,
)

_MEMORY = 32 << 20
_LARGE = 8 << 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    """Provide the mock."""
    with MockCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def proxies(cluster: MockCluster) -> Iterator[tuple[str, dict[int, FaultyBroker]]]:
    """Provide the proxies in front of all brokers."""
    with faulty_brokers(cluster.brokers) as proxies:
        yield proxies


@pytest.fixture(scope="module")
def running(proxies: tuple[str, dict[int, FaultyBroker]]) -> Iterator[GatewayProcess]:
    """Provide a gateway in front of the proxies."""
    with gateway_process(proxies[0]) as gateway:
        yield gateway


@pytest.fixture
def faulty(proxies: tuple[str, dict[int, FaultyBroker]]) -> Iterator[FaultyBroker]:
    """Provide the broker 1, which turns hostile."""
    faulty = proxies[1][1]
    yield faulty
    faulty.answer, faulty.ends = bytes, False


@pytest.fixture
def gateway(running: GatewayProcess, cluster: MockCluster) -> Iterator[GatewayProcess]:
    """Provide the gateway, and a client of the broker 2 that must notice nothing."""
    topic = f"t{uuid.uuid4().hex[:8]}"
    cluster.create_topic(topic, partitions=1)
    cluster.move_leader(topic, 0, 2)
    with Bystander(running.brokers[2], topic):
        before = running.resident
        yield running
        assert running.resident < before + _MEMORY
    assert running.is_running()
    assert "panicked" not in running.errors


def _with_correlation(response: bytes, change: int) -> bytes:
    [correlation] = struct.unpack(">i", response[4:8])
    return response[:4] + struct.pack(">i", correlation + change) + response[8:]


WRONG: dict[str, Answer] = {
    "another correlation id": lambda r: _with_correlation(r, 1),
    "a negative length": lambda r: struct.pack(">i", -5) + r[4:],
    "a length of zero": lambda _: bytes(8),
    "a length of zero and nothing more": lambda _: bytes(4),
    "the longest length": lambda r: struct.pack(">i", 2**31 - 1) + r[4:] + bytes(_LARGE),
    "an array without an end": lambda r: r[:8] + b"\x7f" * (len(r) - 8),
    "a response and more": lambda r: r + r,
    "half a response and the end": lambda r: r[: len(r) // 2],
    "no response and the end": lambda _: None,
    "text": lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_response_that_is_wrong(
    gateway: GatewayProcess, faulty: FaultyBroker, wrong: str
) -> None:
    # The gateway ends all others itself.
    faulty.answer, faulty.ends = WRONG[wrong], "the longest" in wrong or "the end" in wrong
    for request in (API_VERSIONS, METADATA):
        with connect(gateway.brokers[1]) as connection:
            connection.sendall(request)
            response = read_frame(connection)
            # What passed was the one response, and then the connection ends.
            assert not response or response[4:8] == request[8:12]
            assert not response or not read_frame(connection)
    faulty.answer, faulty.ends = bytes, False
    with connect(gateway.brokers[1]) as connection:
        connection.sendall(API_VERSIONS)
        assert read_frame(connection)


@pytest.mark.parametrize("target", ["frames", "messages"])
def test_the_inputs_of_the_fuzz_targets(
    gateway: GatewayProcess, faulty: FaultyBroker, target: str
) -> None:
    for data in seeds(target):
        whole = struct.pack(">i", len(data) + 4)

        def answer(response: bytes, data: bytes = data, whole: bytes = whole) -> bytes:
            return whole + response[4:8] + data if target == "messages" else data

        for request in (API_VERSIONS, METADATA):
            first = threading.Event()

            def once(response: bytes, first: threading.Event = first) -> bytes | None:
                if first.is_set():
                    return None
                first.set()
                return answer(response)

            faulty.answer = once
            with connect(gateway.brokers[1]) as connection:
                # The second request ends the connection, if the first response has not.
                connection.sendall(request + request)
                while read_frame(connection):
                    pass


def test_responses_in_another_order(gateway: GatewayProcess, faulty: FaultyBroker) -> None:
    kept: list[bytes] = []

    def swapped(response: bytes) -> bytes:
        if kept:
            return response + kept.pop()
        kept.append(response)
        return b""

    faulty.answer = swapped
    with connect(gateway.brokers[1]) as connection:
        connection.sendall(API_VERSIONS + METADATA)
        assert not read_frame(connection)


def test_a_broker_that_never_answers(gateway: GatewayProcess, faulty: FaultyBroker) -> None:
    """A client waits as long as it likes, and others are served all the while."""
    faulty.answer = lambda _: b""
    config = {"request.timeout.ms": 500, "socket.connection.setup.timeout.ms": 500}
    with pytest.raises(ottla.errors.KafkaError):
        ottla.Client(gateway.brokers[1], config, timeout=1).cluster(timeout=1)
    faulty.answer = bytes
    with ottla.Client(gateway.brokers[1]) as client:
        assert client.cluster().brokers.keys() == {1, 2, 3}
