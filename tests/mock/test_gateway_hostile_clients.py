"""Clients that send anything but requests: the gateway's memory is bounded, and others see nothing.

`ottla gateway` runs in a process of its own, so that its memory and its standard error are its own.
"""

from __future__ import annotations

import socket
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ottla.testing import MockCluster
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.hostile_gateways import (
    API_VERSIONS,
    METADATA,
    Bystander,
    connect,
    end_with,
    read_frame,
    seeds,
    send_and_wait_for_end,
)

# More than the gateway takes for a few connections with all their buffers.
_MEMORY = 32 << 20
_LENGTHS = [0, 1, 3, 7, -1, -(2**31), 2**31 - 1, 1 << 30]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    """Provide the mock."""
    with MockCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def running(cluster: MockCluster) -> Iterator[GatewayProcess]:
    """Provide a gateway in front of the mock."""
    with gateway_process(cluster.bootstrap) as gateway:
        yield gateway


@pytest.fixture
def gateway(running: GatewayProcess, cluster: MockCluster) -> Iterator[GatewayProcess]:
    """Provide the gateway; afterwards it runs without a panic, and as small as before."""
    topic = f"t{uuid.uuid4().hex[:8]}"
    cluster.create_topic(topic, partitions=1)
    with Bystander(running.bootstrap, topic):
        before = running.resident
        yield running
        assert running.resident < before + _MEMORY
    assert running.is_running()
    assert "panicked" not in running.errors


def _still_answers(address: str) -> None:
    with connect(address) as connection:
        connection.sendall(API_VERSIONS)
        assert read_frame(connection)


@pytest.mark.parametrize("target", ["frames", "messages"])
def test_the_inputs_of_the_fuzz_targets(gateway: GatewayProcess, target: str) -> None:
    for data in seeds(target):
        # As the first bytes, and after a request.
        send_and_wait_for_end(gateway.bootstrap, data)
        with connect(gateway.brokers[1]) as connection:
            connection.sendall(API_VERSIONS)
            assert read_frame(connection)
            end_with(connection, data)
    _still_answers(gateway.bootstrap)


@pytest.mark.parametrize("length", _LENGTHS)
def test_wrong_lengths(gateway: GatewayProcess, length: int) -> None:
    prefix = struct.pack(">i", length)
    header = API_VERSIONS[4:]
    assert not send_and_wait_for_end(gateway.bootstrap, prefix)
    assert not send_and_wait_for_end(gateway.brokers[2], prefix + header * 100)
    _still_answers(gateway.brokers[2])


def test_requests_that_end_early(gateway: GatewayProcess) -> None:
    for request in (API_VERSIONS, METADATA):
        for end in range(len(request)):
            assert not send_and_wait_for_end(gateway.bootstrap, request[:end])
    _still_answers(gateway.bootstrap)


@pytest.mark.parametrize("api", [-1, 4, 61, 93, 1000, 32767])
def test_apis_that_are_not_known(gateway: GatewayProcess, api: int) -> None:
    request = API_VERSIONS[:4] + struct.pack(">h", api) + API_VERSIONS[6:]
    assert not send_and_wait_for_end(gateway.bootstrap, request)
    _still_answers(gateway.bootstrap)


@pytest.mark.parametrize("request_bytes", [METADATA, API_VERSIONS], ids=["metadata", "versions"])
@pytest.mark.parametrize("version", [-1, 60, 32767])
def test_versions_that_are_not_known(
    gateway: GatewayProcess, request_bytes: bytes, version: int
) -> None:
    request = request_bytes[:6] + struct.pack(">h", version) + request_bytes[8:]
    answer = send_and_wait_for_end(gateway.bootstrap, request)
    if request_bytes is METADATA or version < 0:
        assert not answer
    else:
        # UNSUPPORTED_VERSION in version 0, as brokers answer.
        assert answer[8:10] == struct.pack(">h", 35)


def test_bytes_that_come_one_by_one(gateway: GatewayProcess) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(gateway.brokers[1])) for _ in range(50)]
        for position in range(len(METADATA)):
            for connection in slow:
                connection.sendall(METADATA[position : position + 1])
        for connection in slow:
            assert read_frame(connection)


def test_requests_whose_responses_are_not_read(gateway: GatewayProcess) -> None:
    """The gateway stops reading from a client that does not read, as a broker does."""
    with connect(gateway.brokers[1]) as greedy:
        greedy.setblocking(False)
        sent, refused_since = 0, time.monotonic()
        # Enough to fill what the gateway and the systems buffer, if it did not stop.
        while sent < 64 << 20 and time.monotonic() < refused_since + 0.5:
            try:
                sent += greedy.send(METADATA * 100)
                refused_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent < 64 << 20


def _open_and_drop(gateway: GatewayProcess, count: int) -> None:
    addresses = [gateway.bootstrap, *gateway.brokers.values()]
    for n in range(count):
        with connect(addresses[n % len(addresses)]) as connection:
            if n % 2:
                # With a reset in place of an end.
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if n % 3:
                connection.sendall(API_VERSIONS[: n % len(API_VERSIONS)])
    _still_answers(gateway.bootstrap)


def test_connections_that_are_dropped(gateway: GatewayProcess) -> None:
    _open_and_drop(gateway, 300)


@pytest.mark.deep
def test_ten_thousand_connections_that_are_dropped(gateway: GatewayProcess) -> None:
    _open_and_drop(gateway, 10_000)
