"""The doctor on ports without a broker and on silent brokers: it identifies them in time."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import ottla
from ottla.testing import Fault, MockCluster
from tests.mock.test_doctor import check, codes, diagnose
from tests.support.ports import free_ports

Respond = Callable[[bytes], bytes | None]


@pytest.fixture
def server() -> Iterator[Callable[[Respond], int]]:
    """A server that responds to the first bytes of each connection; None keeps it open, silent."""
    stop = threading.Event()
    listeners = []

    def serve(respond: Respond) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(0.1)
        listeners.append(listener)
        threading.Thread(target=accept, args=(listener, respond), daemon=True).start()
        return int(listener.getsockname()[1])

    def accept(listener: socket.socket, respond: Respond) -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(
                target=serve_connection, args=(connection, respond), daemon=True
            ).start()

    def serve_connection(connection: socket.socket, respond: Respond) -> None:
        with connection:
            response = respond(connection.recv(4096))
            if response is None:
                stop.wait(60)
            elif response:
                connection.sendall(response)

    yield serve
    stop.set()
    for listener in listeners:
        listener.close()


def http(_: bytes) -> bytes:
    return b"HTTP/1.1 400 Bad Request\r\n\r\n"


def patient_http(request: bytes) -> bytes | None:
    """Waits for the end of a line, as many servers do."""
    return http(request) if b"\n" in request else None


def tls(request: bytes) -> bytes:
    """Responds to a client hello with an alert, and closes the connection on anything else."""
    return b"\x15\x03\x03\x00\x02\x02\x28" if request[:1] == b"\x16" else b""


def redis(request: bytes) -> bytes | None:
    """Waits for the end of a line."""
    if not request.endswith(b"\n"):
        return None
    return b"+PONG\r\n" if request == b"PING\r\n" else b"-ERR unknown command\r\n"


def postgres(request: bytes) -> bytes:
    """Responds to a request for TLS, and closes the connection on anything else."""
    return b"N" if request == b"\x00\x00\x00\x08\x04\xd2\x16\x2f" else b""


def amqp(_: bytes) -> bytes:
    """Names its own protocol, and closes the connection."""
    return b"AMQP\x00\x00\x09\x01"


def zookeeper(request: bytes) -> bytes:
    return b"Zookeeper version: 3.9.3\n" if request == b"srvr" else b""


PORTS: dict[str, tuple[Respond, str, int]] = {
    "http": (http, "speaks_http", 6),
    "patient_http": (patient_http, "speaks_http", 6),
    "ssh": (lambda _: b"SSH-2.0-OpenSSH_9.6\r\n", "speaks_ssh", 6),
    "tls": (tls, "speaks_tls", 5),
    "redis": (redis, "speaks_redis", 6),
    "postgresql": (postgres, "speaks_postgresql", 6),
    "amqp": (amqp, "speaks_amqp", 6),
    "zookeeper": (zookeeper, "speaks_zookeeper", 6),
    "silent": (lambda _: None, "silent", 6),
    "hangs_up": (lambda _: b"", "hangs_up", 6),
    "garbage": (lambda _: b"\x00\x00\x00\x04\xff\xff\xff\xff", "not_kafka", 6),
}


@pytest.mark.parametrize("name", PORTS)
def test_a_port_without_a_kafka_listener(name: str, server: Callable[[Respond], int]) -> None:
    respond, code, exit_code = PORTS[name]
    port = server(respond)
    report = ottla.diagnose(f"127.0.0.1:{port}", timeout=5)
    assert codes(report) == [code]
    assert report.exit_code == exit_code
    check(f"port_{name}", report, None, other=port)


GREETINGS = {
    "smtp": b"220 mail.example.com ESMTP\r\n",
    "mysql": b"J\x00\x00\x00\x0a8.0.36\x00",
}


@pytest.mark.parametrize("name", GREETINGS)
def test_a_server_that_speaks_first(name: str) -> None:
    """It greets each connection, whatever the client sends."""
    with greeting_server(GREETINGS[name]) as port:
        report = ottla.diagnose(f"127.0.0.1:{port}", timeout=8)
    assert codes(report) == [f"speaks_{name}"]
    check(f"port_{name}", report, None, other=port)


@contextmanager
def greeting_server(greeting: bytes) -> Iterator[int]:
    """A server that greets each connection and then waits for the client to close it."""

    class Greeter(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(greeting)
            while self.request.recv(4096):
                pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Greeter) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


def test_a_plaintext_listener_that_advertises_the_port_of_a_tls_listener(
    mock_cluster: MockCluster, server: Callable[[Respond], int]
) -> None:
    """True cause: advertised.listeners of broker 2 names the port of its TLS listener."""
    port = server(tls)
    mock_cluster.advertise(2, f"127.0.0.1:{port}")
    report = diagnose(mock_cluster, timeout=8)
    assert codes(report) == ["advertised_protocol"]
    assert report.exit_code == 9
    check("advertised_tls", report, mock_cluster, other=port)


def test_a_closed_port() -> None:
    [closed] = free_ports(1)
    report = ottla.diagnose(f"127.0.0.1:{closed}")
    assert codes(report) == ["tcp_refused"]
    assert report.exit_code == 4
    check("port_closed", report, None, closed=closed)


def test_a_name_that_cannot_be_resolved() -> None:
    report = ottla.diagnose("kafka.invalid:9092")
    assert codes(report) == ["unresolved"]
    assert report.exit_code == 3
    check("wrong_name", report, None)


def test_the_time_is_bounded(mock_cluster: MockCluster, server: Callable[[Respond], int]) -> None:
    silent = server(lambda _: None)
    for broker in (2, 3):
        mock_cluster.advertise(broker, f"127.0.0.1:{silent}")
    mock_cluster.inject(Fault.silence(), api="ListOffsets")
    started = time.monotonic()
    report = diagnose(mock_cluster, timeout=4)
    # Without the bound, the silent brokers would take half a minute.
    assert time.monotonic() - started < 20
    assert {"silent", "leader_fails"} >= set(codes(report)) - {"one_address_for_all"}
