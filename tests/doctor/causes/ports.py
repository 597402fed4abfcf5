"""Ports without a Kafka listener: the set-ups of tests/mock/test_doctor_ports.py."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_SERVER = "127.0.0.1:8080"
# Claims that are false of a port that responds, and that is neither Kafka nor TLS.
_FALSE = ("packets are dropped", "speaks TLS", "nothing listens", "large packets")

PORTS = {
    "port_http": Cause(
        "an HTTP server that answers anything at once",
        "the port is that of a web server",
        (_SERVER, "not Kafka", "HTTP"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_patient_http": Cause(
        "an HTTP server that waits for the end of a line",
        "the port is that of a web server",
        (_SERVER, "not Kafka", "HTTP"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_ssh": Cause(
        "an SSH server",
        "the port is that of an SSH server",
        (_SERVER, "not Kafka", "SSH"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_tls": Cause(
        "a TLS listener, and a client without TLS",
        "the port speaks TLS and the client plaintext",
        (_SERVER, "speaks TLS", "PLAINTEXT"),
        ("security.protocol",),
        ("packets are dropped",),
    ),
    "port_silent": Cause(
        "a server that accepts connections and never responds",
        "what listens there does not respond",
        (_SERVER, "accepts connections", "not respond"),
        ("check what listens",),
        ("packets are dropped", "large packets"),
    ),
    "port_hangs_up": Cause(
        "a server that closes the connection at the first bytes",
        "what listens there closes connections at the first request",
        (_SERVER, "closes"),
        ("check what listens",),
        ("packets are dropped", "speaks TLS"),
    ),
    "port_garbage": Cause(
        "a server that answers with the frame of a wrong correlation id",
        "what listens there is no Kafka broker",
        (_SERVER, "not respond like a Kafka broker|not Kafka"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_closed": Cause(
        "nothing listens at the port",
        "the bootstrap server refuses connections",
        ("127.0.0.1:9999", "refuses"),
        ("running",),
        ("packets are dropped",),
    ),
    "wrong_name": Cause(
        "the name of the bootstrap server does not exist",
        "DNS: the name cannot be resolved",
        ("kafka.invalid", "cannot be resolved"),
        ("name",),
        ("refuses",),
    ),
}
