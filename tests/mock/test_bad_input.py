"""Bad input raises one clear, typed error within the timeout, and nothing hangs."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.kafka_admin import wait_until

# The excess over a timeout in seconds, allowed for loaded machines: far below the default timeouts
# of half a minute and a minute.
SLACK = 10.0
# A timeout in seconds that is long enough to show that a call ends before it.
PATIENT = 45.0


@contextlib.contextmanager
def loopback_server(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a loopback server that passes each connection to `handle`."""
    server = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()
    kept: list[socket.socket] = []

    def serve() -> None:
        server.settimeout(0.1)
        while not ended.is_set():
            with contextlib.suppress(OSError):
                connection, _ = server.accept()
                kept.append(connection)
                handle(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        ended.set()
        thread.join()
        for connection in [*kept, server]:
            connection.close()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def read_then_send(data: bytes) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        connection.settimeout(30)
        connection.recv(4096)
        connection.sendall(data)

    return handle


def assert_raises_within(
    call: Callable[[], Any], kind: type[errors.KafkaError], message: str, within: float
) -> errors.KafkaError:
    started = time.monotonic()
    with pytest.raises(kind, match=message) as raised:
        call()
    assert time.monotonic() - started < within + SLACK
    assert "panic" not in str(raised.value)
    return raised.value


MAKERS: dict[str, Callable[..., Any]] = {
    "Client": ottla.Client,
    "Producer": ottla.Producer,
    "Admin": ottla.Admin,
    "scan": lambda bootstrap, **kwargs: ottla.scan("t", bootstrap, **kwargs),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_closed_port(maker: str) -> None:
    address = closed_port()
    error = assert_raises_within(
        lambda: MAKERS[maker](address, timeout=PATIENT),
        errors.BootstrapError,
        "the bootstrap server cannot be used: connection refused: nothing listens there",
        1,
    )
    assert error.context == {"phase": "TCP", "address": address}
    assert error.retriable


def test_wrong_host() -> None:
    error = assert_raises_within(
        lambda: ottla.Client("no-such-host.invalid:9092", timeout=PATIENT),
        errors.BootstrapError,
        '"no-such-host.invalid" cannot be resolved',
        5,
    )
    assert error.context["phase"] == "DNS"


def test_errors_list_every_bootstrap_server() -> None:
    addresses = [closed_port(), "no-such-host.invalid:9092"]
    error = assert_raises_within(
        lambda: ottla.Client(addresses, timeout=PATIENT),
        errors.BootstrapError,
        "none of the bootstrap",
        5,
    )
    assert "connection refused" in str(error)
    assert "cannot be resolved" in str(error)
    assert all(address in str(error) for address in addresses)


def test_one_reachable_server_is_enough(mock_cluster: MockCluster) -> None:
    for _ in range(5):
        with ottla.Client(
            [closed_port(), mock_cluster.bootstrap.split(",")[0]], timeout=PATIENT
        ) as client:
            assert len(client.cluster().brokers) == 3


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """Python's HTTP handler without request logging on standard error."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_http_server() -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), QuietHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        address = f"127.0.0.1:{server.server_port}"
        started = time.monotonic()
        # Python's server waits for the end of a line; others respond at once.
        with pytest.raises((errors.BootstrapError, errors.TimeoutError)) as raised:
            ottla.Client(address, timeout=2)
        assert time.monotonic() - started < 2 + SLACK
        assert address in str(raised.value)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


SERVERS: dict[str, tuple[bytes, str]] = {
    "HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is not Kafka: it speaks HTTP"),
    "SSH": (b"SSH-2.0-OpenSSH_9.9\r\n", "this is not Kafka: it speaks SSH"),
    "TLS alert": (b"\x15\x03\x01\x00\x02\x02\x46", "this port speaks TLS.*security.protocol"),
    "TLS handshake": (b"\x16\x03\x03\x00\x7a\x02" + b"\0" * 100, "this port speaks TLS"),
    "a huge length": (b"\x7f\xff\xff\xff" + b"x" * 100, "announces 2147483647 bytes"),
    "a negative length": (b"\xff\xff\xff\xff", "announces -1 bytes"),
    "Redis": (b"-ERR unknown command\r\n", "Is this a Kafka listener"),
    "garbage in a frame": (b"\0\0\0\x10" + b"\xa5" * 16, "does not look like Kafka|UNKNOWN|error"),
    "an empty frame": (b"\0\0\0\0", "announces 0 bytes.*Is this a Kafka listener"),
}


@pytest.mark.parametrize("what", SERVERS)
def test_servers_that_are_not_kafka(what: str) -> None:
    data, message = SERVERS[what]
    with loopback_server(read_then_send(data)) as address:
        error = assert_raises_within(
            lambda: ottla.Client(address, timeout=PATIENT),
            errors.BootstrapError,
            f"(?i){message}",
            2,
        )
        assert error.context["phase"] == "ApiVersions"
        assert address in str(error)


def test_server_that_closes_the_connection() -> None:
    with loopback_server(lambda connection: connection.close()) as address:
        error = assert_raises_within(
            lambda: ottla.Client(address, timeout=PATIENT),
            errors.BootstrapError,
            "closed the connection",
            2,
        )
        assert error.context["phase"] == "ApiVersions"


def test_half_a_frame_then_silence(caplog: pytest.LogCaptureFixture) -> None:
    config = {"socket.connection.setup.timeout.ms": 400}
    with loopback_server(read_then_send(b"\0\0\0\x20half")) as address:
        error = assert_raises_within(
            # The client retries until the timeout; the error is that of a complete attempt.
            lambda: ottla.Client(address, config, timeout=1),
            errors.BootstrapError,
            "400 ms",
            1,
        )
        assert error.context["phase"] == "ApiVersions"
    wait_until(lambda: "the cluster is not found yet" in caplog.text, lambda: caplog.text)


@pytest.mark.parametrize("maker", MAKERS)
def test_silent_server(maker: str) -> None:
    with loopback_server(lambda _: None) as address:
        error = assert_raises_within(
            lambda: MAKERS[maker](address, timeout=3),
            errors.BootstrapError,
            # The time left after connecting.
            r"within ([12]?\d?\d?\d|3000) ms",
            3,
        )
        assert address in str(error)
        config = {"socket.connection.setup.timeout.ms": 300}
        error = assert_raises_within(
            lambda: MAKERS[maker](address, config=config, timeout=1),
            errors.BootstrapError,
            r"socket.connection.setup.timeout.ms \(300 ms\)",
            1,
        )
        assert error.context == {"phase": "ApiVersions", "address": address}


@pytest.mark.parametrize("maker", MAKERS)
def test_configuration_is_checked_before_connecting(maker: str) -> None:
    make = MAKERS[maker]
    address = closed_port()
    for kwargs, message in (
        ({"linger_mss": 5}, "did you mean linger.ms"),
        ({"linger": 5}, r"did you mean linger.ms\?"),
        ({"group": "g"}, r"did you mean group.id\?"),
        ({"compression": "zstd"}, r"did you mean compression.type\?"),
        ({"config": {1: 2}}, "config has the key 1 of type int: expected a str"),
        ({"config": {"\ud83d": 2}}, "a key of config has half of a surrogate pair"),
        ({"linger_ms": "x"}, "linger.ms"),
        ({"security_protocol": "PLAIN"}, 'security.protocol="PLAIN"'),
        (
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"},
            "sasl.mechanism=PLAIN needs a user name",
        ),
        ({"timeout": -1}, "timeout"),
    ):
        assert_raises_within(lambda: make(address, **kwargs), errors.ConfigError, message, 0)  # noqa: B023
    assert_raises_within(lambda: make("nonsense"), errors.ConfigError, "has no port", 0)
    assert_raises_within(lambda: make(None), errors.ConfigError, "bootstrap.servers is empty", 0)


def test_unknown_topic_fails_within_the_timeout(mock_cluster: MockCluster) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        calls: tuple[Callable[[], object], ...] = (
            lambda: client.cluster(["nowhere"], timeout=3),
            lambda: ottla.scan("nowhere", client, timeout=3),
            lambda: list(client.scan([("nowhere", 0, 0, 1)], timeout=3)),
            lambda: client.list_offsets({("nowhere", 0): "earliest"}, timeout=3),
        )

        def unknown_topic_error(call: Callable[[], object]) -> errors.KafkaError:
            return assert_raises_within(call, errors.UnknownTopicError, "nowhere", 3)

        with ThreadPoolExecutor(len(calls)) as pool:
            for error in pool.map(unknown_topic_error, calls):
                assert error.context["topic"] == "nowhere"


def test_cluster_that_shuts_down(mock_cluster: MockCluster, topic: str) -> None:
    with ottla.Client(mock_cluster.bootstrap) as client:
        client.cluster([topic])
        producer = ottla.Producer(client)
        mock_cluster.close()
        for call in (
            lambda: client.topic_names(timeout=0.5),
            lambda: client.cluster(refresh=True, timeout=0.5),
            lambda: client.list_offsets({(topic, 0): "latest"}, timeout=0.5),
            lambda: list(client.scan([(topic, 0, 0, 1)], timeout=0.5)),
            lambda: producer.send(topic, "x").result(timeout=0.5),
        ):
            error = assert_raises_within(call, errors.KafkaError, ".", 0.5)
            assert isinstance(
                error, (errors.TimeoutError, errors.BootstrapError, errors.ConnectionError)
            )
        with pytest.raises(errors.TimeoutError):
            producer.close(timeout=0.2)
