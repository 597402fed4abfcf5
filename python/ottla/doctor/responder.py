"""What responds at a port that is not a Kafka broker's: its first bytes, and its protocol.

Each probe has a connection of its own, as many servers close it at the first byte that they do not
understand. Invariant: all waits end with the deadline; nothing is sent that changes anything.
"""

from __future__ import annotations

import dataclasses
import socket
import struct
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from ottla.doctor.connection_facts import Address, Endpoint
from ottla.doctor.state_facts import Responder

# How long to wait for a response to each probe.
_SECONDS = 1.2
# Ports that are probed at most.
_PORTS = 8
_SHOWN_BYTES = 32
# Failures that leave open what responds.
_REASONS = {"not_kafka", "timed_out", "closed", "speaks_http", "speaks_ssh", "other"}

# ApiVersions in a version that no broker supports: the error's response fits into any packet.
_CORRELATION_ID = 0x6F74746C
_BODY = struct.pack(">hhih", 18, 127, _CORRELATION_ID, 5) + b"ottla" + b"\0"
_KAFKA = struct.pack(">i", len(_BODY)) + _BODY
_NO_REQUEST = b""
_POSTGRES_SSL_REQUEST = struct.pack(">ii", 8, 80877103)
_PROBES = (
    _KAFKA,
    # SMTP, MySQL and SSH speak first.
    _NO_REQUEST,
    b"GET / HTTP/1.0\r\n\r\n",
    b"PING\r\n",
    b"srvr",
    b"AMQP\x00\x00\x09\x01",
    _POSTGRES_SSL_REQUEST,
)


def with_responders(endpoints: Iterable[Endpoint], deadline: float) -> tuple[Endpoint, ...]:
    """Return the endpoints, with what responds at ports where no broker was recognised.

    Args:
        endpoints: the endpoints.
        deadline: when to stop, on the clock ``time.monotonic``.
    """
    known = tuple(endpoints)
    open_ports = dict.fromkeys(
        (address.ip, address.port)
        for endpoint in known
        for address in endpoint.addresses
        if _is_open(address)
    )
    responders = {port: identify(*port, deadline) for port in list(open_ports)[:_PORTS]}
    if not responders:
        return known
    return tuple(
        dataclasses.replace(
            endpoint,
            addresses=tuple(
                dataclasses.replace(address, responder=responders.get((address.ip, address.port)))
                for address in endpoint.addresses
            ),
        )
        for endpoint in known
    )


def _is_open(address: Address) -> bool:
    if any(step.check == "Proxy" for step in address.steps):
        # The address is the proxy's.
        return False
    step = address.failure
    return step is not None and step.check in {"TLS", "ApiVersions"} and step.reason in _REASONS


def identify(ip: str, port: int, deadline: float) -> Responder | None:
    """Probe a port with requests of several protocols; return None without time for it."""
    if time.monotonic() >= deadline:
        return None
    deadline = min(deadline, time.monotonic() + _SECONDS)
    with ThreadPoolExecutor(len(_PROBES)) as threads:
        heads = list(threads.map(lambda sent: _exchange(ip, port, sent, deadline), _PROBES))
    acknowledged = heads[0][1]
    kafka = heads[0][0]
    if len(kafka) >= 8 and kafka[4:8] == struct.pack(">i", _CORRELATION_ID):
        return Responder(acknowledged=acknowledged, small_response=True)
    # Who sends back what was sent speaks none of the protocols.
    responses = [
        (sent, head)
        for sent, (head, _) in zip(_PROBES, heads, strict=True)
        if head and head != sent
    ]
    for sent, head in responses:
        protocol = protocol_of(sent, head)
        if protocol is not None:
            return Responder(protocol, _shown(head), acknowledged)
    return Responder(None, _shown(responses[0][1]) if responses else "", acknowledged)


def _exchange(ip: str, port: int, sent: bytes, deadline: float) -> tuple[bytes, bool | None]:
    """Return the first bytes of a response, and whether the request was acknowledged."""
    try:
        with socket.create_connection((ip, port), max(deadline - time.monotonic(), 0.05)) as opened:
            if sent:
                opened.sendall(sent)
            opened.settimeout(max(deadline - time.monotonic(), 0.05))
            try:
                return opened.recv(256), True
            except TimeoutError:
                return b"", _is_acknowledged(opened)
    except OSError:
        return b"", None


def _is_acknowledged(opened: socket.socket) -> bool | None:
    """Return whether the peer's system acknowledged all bytes; None if that cannot be known."""
    option = getattr(socket, "TCP_INFO", None)
    if option is None:
        return None
    try:
        info = opened.getsockopt(socket.IPPROTO_TCP, option, 104)
    except OSError:
        return None
    # struct tcp_info of Linux: eight bytes, then rto, ato, snd_mss, rcv_mss, unacked.
    if len(info) < 28:
        return None
    unacknowledged: int = struct.unpack_from("=I", info, 24)[0]
    return unacknowledged == 0


def protocol_of(sent: bytes, head: bytes) -> str | None:
    """Return the protocol of a response to one of the probes, or None."""
    upper = head.upper()
    if head.startswith(b"220"):
        return "FTP" if b"FTP" in upper else "SMTP"
    if sent == _POSTGRES_SSL_REQUEST and head in {b"S", b"N"}:
        return "PostgreSQL"
    if head[:1] == b"E" and head[5:].startswith((b"SFATAL\0", b"SERROR\0")):
        # An error: its length, and fields of which the first is the severity.
        return "PostgreSQL"
    if len(head) > 5 and head[3] == 0 and head[4] in {10, 0xFF}:
        # The greeting of protocol 10, or an error such as a blocked host.
        return "MySQL"
    starts = {
        b"HTTP/": "HTTP",
        b"SSH-": "SSH",
        b"AMQP": "AMQP",
        b"\x01\x00\x00": "AMQP",
        b"ZOOKEEPER VERSION": "ZooKeeper",
        b"SRVR IS NOT EXECUTED": "ZooKeeper",
        b"THIS ZOOKEEPER INSTANCE": "ZooKeeper",
        b"+PONG": "Redis",
        b"-NOAUTH": "Redis",
        b"-DENIED": "Redis",
        b"-ERR": "Redis",
        b"-LOADING": "Redis",
    }
    return next((name for start, name in starts.items() if upper.startswith(start)), None)


def _shown(head: bytes) -> str:
    """Return the first bytes, with escapes for those that cannot be printed."""
    line = head.partition(b"\r\n")[0]
    return repr((line if line.isascii() and line else head)[:_SHOWN_BYTES])[2:-1]
