"""The console cannot starve its application: descriptors, connections, memory and time."""

from __future__ import annotations

import http.client
import logging
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from ottla.console import Console, protocol
from ottla.testing import MockCluster
from tests.support.console import TIMEOUT, Stream, request
from tests.support.jars import REPOSITORY
from tests.support.subprocesses import run_python
from tests.support.waiting import wait_until

# An application of 256 descriptors with a console. It does what each line of its input says.
_APPLICATION = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
import ottla, ottla.console
from ottla.testing import MockCluster

files = []
with MockCluster() as cluster:
    cluster.create_topic("orders", partitions=3)
    with ottla.Producer(cluster.bootstrap, delivery_timeout_ms=60_000) as producer:
        producer.send("orders", b"value").result(timeout=30)
        with ottla.console.serve(producer) as console:
            print(console.port, console.token, flush=True)
            for line in sys.stdin:
                try:
                    match line.split():
                        case ["open", count]:
                            files += [open(os.devnull) for _ in range(int(count))]
                        case ["fill", free]:
                            open_now = len(os.listdir("/proc/self/fd")) - 1
                            files += [
                                open(os.devnull) for _ in range(256 - open_now - int(free))
                            ]
                        case ["close"]:
                            while files:
                                files.pop().close()
                        case ["reconnect"]:
                            for broker in cluster.brokers:
                                cluster.stop_broker(broker)
                            for broker in (1, 2, 3):
                                cluster.start_broker(broker)
                            producer.send("orders", b"value").result(timeout=60)
                except Exception as error:
                    print(repr(error), flush=True)
                else:
                    print("done", flush=True)
"""


class _Remote(Console):
    """The console of another process."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.url = f"http://127.0.0.1:{port}/"


class _Application:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        port, token = self._line().split()
        self.console = _Remote(int(port), token)

    def do(self, command: str) -> str:
        """Return ``done``, or the application's error."""
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def _application() -> Iterator[_Application]:
    """Run an application, which must log nothing."""
    with (
        # Not a pipe: an application that logs much would wait for its reader.
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [sys.executable, "-c", _APPLICATION],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=REPOSITORY,
            text=True,
        ) as process,
    ):
        try:
            yield _Application(process)
            process.communicate(timeout=60)
        finally:
            process.kill()
        errors.seek(0)
        assert errors.read() == ""


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)


def _is_closed(connection: socket.socket) -> bool:
    """Wait until the peer closes the connection; return whether it sent nothing before."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_strangers_leave_descriptors_to_the_application() -> None:
    with _application() as application, ExitStack() as stack:
        for n in range(400):
            stranger = stack.enter_context(_connected(application.console.port))
            if n % 2:
                stranger.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert application.do("open 100") == "done"
        assert application.do("close") == "done"
        assert application.do("reconnect") == "done"
        assert request(application.console, "/api/about").status == 200


def test_an_application_short_of_descriptors_gets_no_connection() -> None:
    with _application() as application:
        assert application.do("fill 20") == "done"
        for _ in range(40):
            with _connected(application.console.port) as stranger:
                assert _is_closed(stranger)
        assert application.do("open 10") == "done"
        assert application.do("close") == "done"

        def is_served() -> bool:
            try:
                return request(application.console, "/api/about").status == 200
            except (ConnectionError, http.client.RemoteDisconnected):
                return False

        wait_until(is_served)


def test_pages_work_while_strangers_connect(console: Console, topic: str) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(Stream(console)) for _ in range(50)]
        for n in range(150):
            stack.enter_context(_connected(console.port))
            if n % 10 == 0:
                assert request(console, f"/api/topic?name={topic}").status == 200
        for page in pages:
            page.wait_for("metrics")
            page.wait_for("metrics")


_HEAD = b"Host: 127.0.0.1\r\nAuthorization: Bearer TOKEN\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [b"GET /api/about HTTP/1.1\r\nHost: "],
        [
            b"POST /api/change/groups/reset HTTP/1.1\r\nContent-Type: application/json\r\n" + _HEAD,
            b"Content-Length: 100\r\n\r\n{",
        ],
        [b"POST /api/about HTTP/1.1\r\nContent-Length: 100\r\n" + _HEAD + b"\r\n{"],
        [b"GET /api/about HTTP/1.1\r\n" + _HEAD + b"\r\n", b"GET /api/about HTTP/1.1\r\n"],
    ],
    ids=["nothing", "half a head", "half a body", "an unread body", "half of a second head"],
)
def test_a_request_has_a_deadline(
    console: Console, monkeypatch: pytest.MonkeyPatch, sent: list[bytes]
) -> None:
    monkeypatch.setattr(protocol, "_REQUEST_TIMEOUT", 0.5)
    with _connected(console.port) as stranger:
        for part in sent:
            stranger.sendall(part.replace(b"TOKEN", str(console.token).encode()))
            if part.endswith(b"\r\n\r\n"):
                assert stranger.recv(65_536)
        while stranger.recv(65_536):
            pass
    assert request(console, "/api/about").status == 200


def test_a_request_that_trickles_has_a_deadline(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_REQUEST_TIMEOUT", 0.5)
    with _connected(console.port) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        stranger.settimeout(0.05)
        for _ in range(600):
            try:
                stranger.sendall(b"x")
                if not stranger.recv(1):
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    raise AssertionError("the connection stayed open for half a minute")


def test_who_does_not_take_a_response_is_disconnected(
    console: Console, mock_cluster: MockCluster, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_cluster.append(single, 0, [b"x" * 500_000] * 24)
    readers = []
    for _ in range(2):
        reader = socket.socket()
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        reader.settimeout(TIMEOUT)
        reader.connect(("127.0.0.1", console.port))
        path = f"/api/messages/download?topic={single}&as=jsonl"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {console.token}"
        reader.sendall(f"{head}\r\n\r\n".encode())
        assert reader.recv(12) == b"HTTP/1.1 200"
        readers.append(reader)
    # Two files are in memory; a third would wait for their readers.
    refused = request(console, f"/api/messages/download?topic={single}")
    assert refused.status == 409
    assert "2 files" in refused.json["message"]
    monkeypatch.setattr(protocol, "_RESPONSE_TIMEOUT", 0.5)
    wait_until(lambda: request(console, f"/api/messages/download?topic={single}").status == 200)
    for reader in readers:
        taken = 0
        try:
            while data := reader.recv(1 << 20):
                taken += len(data)
        except ConnectionResetError:
            pass
        assert taken < 12_000_000
        reader.close()


def test_a_stranger_keeps_no_connection(console: Console) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=TIMEOUT)
    for headers in ({}, {"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        connection.request("GET", "/", headers=headers)
        response = connection.getresponse()
        assert response.status in {401, 421, 403}
        assert response.getheader("connection") == "close"
        response.read()
    signed_in = {"Authorization": f"Bearer {console.token}"}
    for _ in range(2):
        connection.request("GET", "/api/about", headers=signed_in)
        response = connection.getresponse()
        assert response.getheader("connection") is None
        response.read()
    connection.close()


def test_strangers_write_no_line_of_the_log(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        for sent in [b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"]:
            with _connected(console.port) as stranger:
                stranger.sendall(sent)
                assert b" 400 " in stranger.recv(65_536)
        for headers in (
            {"Upgrade": "websocket", "Connection": "Upgrade"},
            {"Origin": "http://[::1"},
            {"Sec-Fetch-Site": "\xff"},
        ):
            assert request(console, "/", token=False, headers=headers).status in {401, 403}
    lines = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert lines == []


_LOADS = """
import threading, http.client
from concurrent.futures import ThreadPoolExecutor
import ottla.console
from ottla.testing import MockCluster
with MockCluster() as cluster, ottla.Client(cluster.bootstrap) as client:
    with ottla.console.serve(client) as console:
        def load(_):
            page = http.client.HTTPConnection("127.0.0.1", console.port, timeout=30)
            headers = {"Authorization": f"Bearer {console.token}"}
            page.request("GET", "/static/console.js", headers=headers)
            assert page.getresponse().read()
            page.close()
        with ThreadPoolExecutor(40) as pool:
            list(pool.map(load, range(200)))
        names = [each.name for each in threading.enumerate()]
        print(sum("AnyIO" in name for name in names))
"""


def test_files_are_read_by_few_threads() -> None:
    """Regression: each file that a page loads could start a thread, forty in all."""
    assert 0 < int(run_python(_LOADS)) <= 2
