"""The doctor on ports without a broker and on silent brokers: it identifies them in time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

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


PORTS: dict[str, tuple[Respond, str, int]] = {
    "http": (http, "speaks_http", 6),
    "patient_http": (patient_http, "speaks_http", 6),
    "ssh": (lambda _: b"SSH-2.0-OpenSSH_9.6\r\n", "speaks_ssh", 6),
    "tls": (tls, "speaks_tls", 5),
    "silent": (lambda _: None, "silent", 6),
    "hangs_up": (lambda _: b"", "hangs_up", 6),
    "garbage": (lambda _: b"\x00\x00\x00\x04\xff\xff\xff\xff", "not_kafka", 6),
}


@pytest.mark.parametrize("name", PORTS)
def test_a_port_without_a_kafka_listener(name: str, server: Callable[[Respond], int]) -> None:
    respond, code, exit_code = PORTS[name]
    port = server(respond)
    report = ottla.diagnose(f"127.0.0.1:{port}", timeout=12)
    assert codes(report) == [code]
    assert report.exit_code == exit_code
    check(f"port_{name}", report, None, other=port)


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
