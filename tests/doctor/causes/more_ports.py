"""Ports of other programs and of broken proxies, and their true causes."""

from __future__ import annotations

from tests.doctor.causes.cause import Cause

_SERVER = "127.0.0.1:8080"
_NOT_KAFKA = "not Kafka|not respond like a Kafka broker|no Kafka broker"
# Claims that are false of a port that responds, and that is neither Kafka nor TLS.
_FALSE = ("packets are dropped", "speaks TLS", "nothing listens", "large packets", "SASL")

MORE_PORTS = {
    "ports/redis": Cause(
        "Redis: waits for the end of a line, then answers -ERR",
        "the port is that of a Redis server",
        (_SERVER, _NOT_KAFKA, "Redis"),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/postgres": Cause(
        "PostgreSQL: answers an unknown protocol version with an error message of its own protocol",
        "the port is that of a PostgreSQL server",
        (_SERVER, _NOT_KAFKA, "Postgres"),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/mysql": Cause(
        "MySQL: sends its greeting before the client says anything",
        "the port is that of a MySQL server",
        (_SERVER, _NOT_KAFKA, "MySQL"),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/smtp": Cause(
        "a mail server: sends 220 and its name first",
        "the port is that of a mail server",
        (_SERVER, _NOT_KAFKA, "SMTP|mail"),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/amqp": Cause(
        "RabbitMQ: answers a wrong header with its own, and closes the connection",
        "the port is that of an AMQP broker",
        (_SERVER, _NOT_KAFKA, "AMQP|RabbitMQ"),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/unknown_banner": Cause(
        "an unknown program that greets with a line of text",
        "the port is not Kafka; its first bytes, HELLO, are the only hint of what it is",
        (_SERVER, _NOT_KAFKA, "HELLO"),
        ("Kafka listener",),
        (*_FALSE, "HTTP", "SSH"),
    ),
    "ports/zookeeper": Cause(
        "ZooKeeper: closes the connection at a packet that is no request of a session",
        "the port is not that of a Kafka broker: what listens there closes the connection",
        (_SERVER, "closes|ZooKeeper"),
        ("listens|ZooKeeper",),
        _FALSE,
    ),
    "ports/echo": Cause(
        "a server that sends back what it receives",
        "the port is not Kafka",
        (_SERVER, _NOT_KAFKA),
        ("Kafka listener",),
        _FALSE,
    ),
    "ports/half_response": Cause(
        "a proxy that passes on ten bytes of a response of 100, and closes the connection",
        "the response is cut off: the connection ends in the middle of it",
        (_SERVER, r"closed|closes|cut|incomplete|in the middle|end of"),
        ("proxy|log|listens",),
        _FALSE,
    ),
    "ports/huge_length": Cause(
        "a server whose first bytes, read as a length, are two gigabytes",
        "the port is not Kafka",
        (_SERVER, _NOT_KAFKA),
        ("Kafka listener",),
        (*_FALSE, "fetch.max.bytes", "raise"),
    ),
    "ports/closes_at_once": Cause(
        "a port that closes each connection before the first request, as a broker does beyond "
        "max.connections.per.ip, and a load balancer without a server",
        "the connections are closed at once; a limit or an empty load balancer are two causes",
        (_SERVER, "closes|closed"),
        ("max.connections", "load balancer"),
        _FALSE,
    ),
    "ports/https": Cause(
        "a client with TLS at a web server with TLS, whose certificate it trusts",
        "the TLS handshake succeeds, and HTTP is spoken inside it",
        (_SERVER, _NOT_KAFKA, "HTTP"),
        ("Kafka listener",),
        ("packets are dropped", "PLAINTEXT", "certificate"),
    ),
}
