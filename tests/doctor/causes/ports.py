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
    "port_redis": Cause(
        "Redis: waits for the end of a line (once more, with another answer)",
        "the port is that of a Redis server",
        (_SERVER, "not Kafka", "Redis"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_postgresql": Cause(
        "PostgreSQL: answers a request for TLS, and closes on anything else (once more)",
        "the port is that of a PostgreSQL server",
        (_SERVER, "not Kafka", "Postgres"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_amqp": Cause(
        "RabbitMQ: names its own protocol, and closes the connection (once more)",
        "the port is that of an AMQP broker",
        (_SERVER, "not Kafka", "AMQP|RabbitMQ"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_mysql": Cause(
        "MySQL: greets before the client says anything (once more, and never closes)",
        "the port is that of a MySQL server",
        (_SERVER, "not Kafka", "MySQL"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_smtp": Cause(
        "a mail server: greets with 220 (once more, and never rejects a line)",
        "the port is that of a mail server",
        (_SERVER, "not Kafka", "SMTP|mail"),
        ("Kafka listener",),
        _FALSE,
    ),
    "port_zookeeper": Cause(
        "ZooKeeper with its command srvr allowed: answers it, and closes on anything else",
        "the port is that of ZooKeeper",
        (_SERVER, "not Kafka", "ZooKeeper"),
        ("Kafka listener",),
        _FALSE,
    ),
}
