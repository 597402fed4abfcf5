"""Which of librdkafka's keys the layer itself gives a meaning, and which have none.

ottla's core knows librdkafka's names for its own keys, with their units and values; nothing here
repeats that. Invariants: a key that would weaken security by being ignored is never ignored; it
goes to ottla, which refuses it and says what to use instead.
"""

from __future__ import annotations

from functools import cache

from ottla._core import config_row_of, config_rows, other_client_config_rows

# Accepted with one warning: tuning of librdkafka's own parts, or of what ottla always does.
WITHOUT_EFFECT = frozenset(
    {
        "message.copy.max.bytes",
        "topic.metadata.refresh.fast.interval.ms",
        "topic.metadata.refresh.fast.cnt",
        "topic.metadata.refresh.sparse",
        "log.queue",
        "log.thread.name",
        "log.connection.close",
        "socket.blocking.max.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.max.fails",
        "broker.address.ttl",
        "broker.address.family",
        "reconnect.backoff.jitter.ms",
        "enabled_events",
        "enable.random.seed",
        "internal.termination.signal",
        "api.version.request",
        "api.version.request.timeout.ms",
        "api.version.fallback.ms",
        "broker.version.fallback",
        "ssl.cipher.suites",
        "ssl.curves.list",
        "ssl.sigalgs.list",
        "ssl.ca.certificate.stores",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "group.protocol.type",
        "coordinator.query.interval.ms",
        "auto.commit.enable",
        "queued.min.messages",
        "fetch.queue.backoff.ms",
        "fetch.error.backoff.ms",
        "offset.store.sync.interval.ms",
        "consume.callback.max.messages",
        "queue.buffering.backpressure.threshold",
        "batch.num.messages",
        "sticky.partitioning.linger.ms",
        "queuing.strategy",
        "produce.offset.report",
        "builtin.features",
    }
)

# Set through callbacks of librdkafka in C, which confluent-kafka does not have either.
IN_C_ONLY = frozenset(
    {
        "background_event_cb",
        "socket_cb",
        "connect_cb",
        "closesocket_cb",
        "open_cb",
        "resolve_cb",
        "opaque",
        "default_topic_conf",
        "ssl.certificate.verify_cb",
        "oauthbearer_token_refresh_cb",
        "consume_cb",
        "rebalance_cb",
        "offset_commit_cb",
        "dr_cb",
        "dr_msg_cb",
        "log_cb",
        "partitioner_cb",
        "msg_order_cmp",
        "interceptors",
    }
)

# What the layer itself does, with librdkafka's default.
OWN: dict[str, object] = {
    "compression.level": -1,
    "debug": "",
    "delivery.report.only.error": False,
    "enable.auto.commit": True,
    "auto.commit.interval.ms": 5000,
    "enable.auto.offset.store": True,
    "enable.partition.eof": False,
    "enable.sasl.oauthbearer.unsecure.jwt": False,
    "log_level": 6,
    "queue.buffering.max.messages": 100_000,
    "sasl.oauthbearer.config": "",
    "sasl.oauthbearer.method": "default",
    "statistics.interval.ms": 0,
    "topic.metadata.propagation.max.ms": 30_000,
}

# librdkafka's defaults where they differ from Java's, by ottla's names.
DEFAULTS: dict[str, object] = {
    "delivery.timeout.ms": 300_000,
    "isolation.level": "read_committed",
    "partitioner.class": "consistent_random",
    "partition.assignment.strategy": "range,roundrobin",
    "allow.auto.create.topics": False,
    "max.request.size": 1_000_000,
}


@cache
def ottla_types() -> dict[str, str]:
    """Return the type of each of ottla's keys."""
    return {name: kind for name, kind, *_ in config_rows()}


@cache
def _librdkafka_names() -> frozenset[str]:
    rows = other_client_config_rows()
    return frozenset(name for name, client, *_ in rows if client == "librdkafka")


def is_known(name: str) -> bool:
    """Return whether librdkafka, or ottla, has a key of this name."""
    return (
        name in OWN
        or name in WITHOUT_EFFECT
        or name in IN_C_ONLY
        or name in _librdkafka_names()
        or name in ottla_types()
    )


def row_of(name: str) -> str:
    """Return ottla's name of a key; the name itself if ottla has none."""
    return config_row_of(name) or name
