"""Proxies that do not lead to the broker: the set-ups of tests/doctor/test_proxies.py."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_BROKER, _PROXY = "kafka1.internal:9092", "the proxy (?:http|socks5h)://127.0.0.1:3128"
# Nothing is known of the broker.
_FALSE = ("speaks TLS", "packets are dropped", "check that the broker is running", "not Kafka")

PROXIES = {
    "proxies/down": Cause(
        "nothing listens at the proxy's port",
        "the proxy is down, or its address wrong",
        (_BROKER, _PROXY, "refused"),
        ("proxy.url", "running"),
        _FALSE,
    ),
    "proxies/refuses": Cause(
        "an HTTP proxy that answers CONNECT with 403",
        "the proxy does not allow this destination",
        (_BROKER, _PROXY, "403"),
        ("allow",),
        _FALSE,
    ),
    "proxies/wants_password": Cause(
        "an HTTP proxy that answers CONNECT with 407",
        "the proxy wants a user and a password",
        (_BROKER, _PROXY, "user and a password"),
        ("proxy.url", "user:password@"),
        _FALSE,
    ),
    "proxies/socks_wants_password": Cause(
        "a SOCKS5 proxy that accepts no anonymous client",
        "the proxy wants a user and a password",
        (_BROKER, _PROXY, "user and a password"),
        ("proxy.url", "user:password@"),
        _FALSE,
    ),
    "proxies/no_path": Cause(
        "an HTTP proxy that answers CONNECT with 502",
        "the proxy cannot reach the broker",
        (_BROKER, _PROXY, "cannot reach"),
        ("the proxy's machine",),
        _FALSE,
    ),
    "proxies/socks_no_path": Cause(
        "a SOCKS5 proxy that replies: host unreachable",
        "the proxy cannot reach the broker",
        (_BROKER, _PROXY, "cannot reach"),
        ("the proxy's machine",),
        _FALSE,
    ),
    "proxies/web_server": Cause(
        "a web server that answers CONNECT with 400",
        "what listens there is no proxy",
        (_BROKER, _PROXY, "400"),
        ("proxy",),
        _FALSE,
    ),
}
