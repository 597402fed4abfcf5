"""The doctor behind proxies: down, refusing, wanting a password, without a path to the broker."""

from __future__ import annotations

import socket

import pytest

import ottla
from tests.doctor.verdicts import check_verdict
from tests.support.golden import Replacements
from tests.support.ports import free_ports
from tests.support.scripted_servers import Serve, scripted_server

_BROKER = "kafka1.internal:9092"


def http(status: str) -> Serve:
    """Return a proxy that answers CONNECT with a status."""

    def serve(connection: socket.socket) -> None:
        request = b""
        while not request.endswith(b"\r\n\r\n") and (part := connection.recv(4096)):
            request += part
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    return serve


def socks5(*answers: bytes) -> Serve:
    """Return a SOCKS5 proxy that gives these answers in turn."""

    def serve(connection: socket.socket) -> None:
        for answer in answers:
            connection.recv(4096)
            connection.sendall(answer)

    return serve


_UNREACHABLE = b"\x05\x04\x00\x01" + bytes(6)

CASES: dict[str, tuple[str, Serve]] = {
    "refuses": ("http", http("403 Forbidden")),
    "wants_password": ("http", http("407 Proxy Authentication Required")),
    "no_path": ("http", http("502 Bad Gateway")),
    "socks_wants_password": ("socks5h", socks5(b"\x05\xff")),
    "socks_no_path": ("socks5h", socks5(b"\x05\x00", _UNREACHABLE)),
    "web_server": ("http", http("400 Bad Request")),
}


def proxy_at(port: int) -> Replacements:
    return Replacements(texts={f"127.0.0.1:{port}": "127.0.0.1:3128"})


@pytest.mark.parametrize("name", CASES)
def test_a_proxy_that_does_not_lead_to_the_broker(name: str) -> None:
    scheme, serve = CASES[name]
    with scripted_server(serve) as port:
        report = ottla.diagnose(_BROKER, proxy_url=f"{scheme}://127.0.0.1:{port}", timeout=10)
    check_verdict(f"proxies/{name}", report, proxy_at(port))


def test_a_proxy_that_is_down() -> None:
    [port] = free_ports(1)
    report = ottla.diagnose(_BROKER, proxy_url=f"http://127.0.0.1:{port}", timeout=10)
    check_verdict("proxies/down", report, proxy_at(port))
