"""The doctor at ports of other programs: a script answers as the program does."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from datetime import datetime, timezone
from pathlib import Path

import pytest

import ottla
from tests.doctor.verdicts import OTHER, check_verdict
from tests.security.certificates import Authority
from tests.support.golden import Replacements
from tests.support.scripted_servers import Serve, read_line, scripted_server, wait_for_end


def redis(connection: socket.socket) -> None:
    """Read commands in the form of lines; a line of HTTP's headers ends the connection."""
    line = read_line(connection)
    if b"HTTP/" in line:
        connection.sendall(b"-ERR wrong number of arguments for 'get' command\r\n")
    elif line.endswith(b"\n"):
        connection.sendall(b"-ERR unknown command\r\n")


def postgres(connection: socket.socket) -> None:
    """Answer a startup packet of another protocol version; close on one that is too long."""
    packet = connection.recv(4096)
    if len(packet) < 8:
        return
    length, major, minor = struct.unpack(">IHH", packet[:8])
    if length > 10_000:
        return
    text = f"unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0"
    fields = ["SFATAL", "VFATAL", "C0A000", f"M{text}", "Fpostmaster.c", "L2143"]
    body = b"".join(field.encode() + b"\0" for field in fields) + b"\0"
    connection.sendall(b"E" + struct.pack(">I", len(body) + 4) + body)


def mysql(connection: socket.socket) -> None:
    """Greet with protocol 10 and the server's version."""
    salt = b"12345678"
    body = b"\x0a8.0.36\0" + struct.pack("<I", 9) + salt + b"\0\xff\xff\xff\x02\0\xff\xdf\x15"
    body += bytes(10) + b"123456789012\0caching_sha2_password\0"
    connection.sendall(struct.pack("<I", len(body))[:3] + b"\0" + body)
    connection.recv(4096)
    error = b"\xff\x84\x04#08S01Got packets out of order"
    connection.sendall(struct.pack("<I", len(error))[:3] + b"\1" + error)


def smtp(connection: socket.socket) -> None:
    """Greet, and reject what is no command."""
    connection.sendall(b"220 mail.ottla.test ESMTP Postfix\r\n")
    while read_line(connection).endswith(b"\n"):
        connection.sendall(b"502 5.5.2 Error: command not recognized\r\n")


def amqp(connection: socket.socket) -> None:
    """Answer a wrong header with the one that is supported."""
    connection.recv(4096)
    connection.sendall(b"AMQP\x00\x00\x09\x01")


def unknown_banner(connection: socket.socket) -> None:
    """Greet, and wait."""
    connection.sendall(b"HELLO this is frobd 1.7\r\n")
    wait_for_end(connection)


def zookeeper(connection: socket.socket) -> None:
    """Close the connection at what is no request of a session."""
    connection.recv(4096)


def echo(connection: socket.socket) -> None:
    """Send back what was received."""
    while chunk := connection.recv(4096):
        connection.sendall(chunk)


def half_response(connection: socket.socket) -> None:
    """Announce 100 bytes with the right correlation id, and send ten."""
    correlation = connection.recv(4096)[8:12]
    connection.sendall(struct.pack(">I", 100) + correlation + bytes(6))


def huge_length(connection: socket.socket) -> None:
    """Announce two gigabytes."""
    connection.recv(4096)
    connection.sendall(b"\x7f\xff\xff\xff" + bytes(60))
    wait_for_end(connection)


def closes_at_once(_: socket.socket) -> None:
    """Close the connection before anything is read."""


SERVERS: dict[str, Serve] = {
    "redis": redis,
    "postgres": postgres,
    "mysql": mysql,
    "smtp": smtp,
    "amqp": amqp,
    "unknown_banner": unknown_banner,
    "zookeeper": zookeeper,
    "echo": echo,
    "half_response": half_response,
    "huge_length": huge_length,
    "closes_at_once": closes_at_once,
}


# tests/mock/test_doctor_ports.py has a second script of each of these.
_TWICE = {"redis", "postgres", "mysql", "smtp", "amqp"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.deep] if name in _TWICE else []) for name in SERVERS],
)
def test_a_port_of_another_program(name: str) -> None:
    with scripted_server(SERVERS[name]) as port:
        report = ottla.diagnose(f"127.0.0.1:{port}", timeout=4)
    # The request may be sent before the connection is closed, or not.
    exact = name != "closes_at_once"
    check_verdict(f"ports/{name}", report, Replacements({port: OTHER}), exact=exact)


def test_a_web_server_with_tls(tmp_path: Path) -> None:
    made = datetime.now(timezone.utc).date()
    authority = Authority("ottla tests")
    identity = authority.issue("web", ["127.0.0.1"])
    pem = tmp_path / "web.pem"
    pem.write_text(identity.key() + identity.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    def https(connection: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, True) as secure:
            secure.recv(4096)
            secure.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.certificate}
    with scripted_server(https) as port:
        config = {"security.protocol": "SSL", **trust}
        report = ottla.diagnose(f"127.0.0.1:{port}", config, timeout=4)
    check_verdict("ports/https", report, Replacements({port: OTHER}, today=made))
