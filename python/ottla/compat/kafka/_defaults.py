"""The keyword arguments of kafka-python's clients, with its defaults.

Invariant: a name that is in none of these is refused, as kafka-python refuses it.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from ottla.compat.kafka.coordinator.assignors.range import RangePartitionAssignor
from ottla.compat.kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from ottla.compat.kafka.errors import KafkaConfigurationError
from ottla.compat.kafka.partitioner.default import DefaultPartitioner
from ottla.compat.kafka.version import __version__

__all__ = ["ADMIN", "CONSUMER", "PRODUCER", "merged"]

INFINITE = float("inf")

_COMMON: dict[str, Any] = {
    "bootstrap_servers": "localhost",
    "client_id": f"kafka-python-{__version__}",
    "request_timeout_ms": 30_000,
    "default_api_timeout_ms": 60_000,
    "connections_max_idle_ms": 540_000,
    "reconnect_backoff_ms": 50,
    "reconnect_backoff_max_ms": 30_000,
    "retry_backoff_ms": 100,
    "max_in_flight_requests_per_connection": 5,
    "metadata_max_age_ms": 300_000,
    "client_dns_lookup": "use_all_dns_ips",
    "receive_message_max_bytes": 100_000_000,
    "receive_buffer_bytes": None,
    "send_buffer_bytes": None,
    "socket_options": [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
    "socket_connection_setup_timeout_ms": 10_000,
    "socket_connection_setup_timeout_max_ms": 30_000,
    "bootstrap_timeout_ms": 30_000,
    "api_version": None,
    "security_protocol": "PLAINTEXT",
    "ssl_context": None,
    "ssl_check_hostname": True,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_crlfile": None,
    "ssl_password": None,
    "sasl_mechanism": None,
    "sasl_plain_username": None,
    "sasl_plain_password": None,
    "sasl_kerberos_name": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "sasl_oauth_token_provider": None,
    "proxy_url": None,
    "socks5_proxy": None,
    "metric_reporters": [],
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "selector": None,
    "net": None,
    "kafka_client": None,
}

CONSUMER: dict[str, Any] = {
    **_COMMON,
    "client_rack": "",
    "group_id": None,
    "group_instance_id": None,
    "key_deserializer": None,
    "value_deserializer": None,
    "enable_incremental_fetch_sessions": True,
    "fetch_max_wait_ms": 500,
    "fetch_min_bytes": 1,
    "fetch_max_bytes": 52_428_800,
    "max_partition_fetch_bytes": 1_048_576,
    "auto_offset_reset": "latest",
    "enable_auto_commit": True,
    "auto_commit_interval_ms": 5_000,
    "default_offset_commit_callback": None,
    "check_crcs": True,
    "isolation_level": "read_uncommitted",
    "allow_auto_create_topics": True,
    "partition_assignment_strategy": (RangePartitionAssignor, RoundRobinPartitionAssignor),
    "max_poll_records": 500,
    "max_poll_interval_ms": 300_000,
    "session_timeout_ms": 45_000,
    "heartbeat_interval_ms": 3_000,
    "consumer_timeout_ms": INFINITE,
    "exclude_internal_topics": True,
    "ssl_ciphers": None,
    "metrics_enabled": True,
    "metric_group_prefix": "consumer",
}

PRODUCER: dict[str, Any] = {
    **_COMMON,
    "client_id": None,
    "key_serializer": None,
    "value_serializer": None,
    "enable_idempotence": True,
    "transactional_id": None,
    "transaction_timeout_ms": 60_000,
    "delivery_timeout_ms": 120_000,
    "acks": -1,
    "compression_type": None,
    "retries": INFINITE,
    "batch_size": 16_384,
    "linger_ms": 0,
    "partitioner": DefaultPartitioner(),
    "max_block_ms": 60_000,
    "max_request_size": 1_048_576,
    "allow_auto_create_topics": True,
    "ssl_ciphers": None,
    "metrics_enabled": True,
}

ADMIN: dict[str, Any] = dict(_COMMON)

# Of kafka-python 2 alone: accepted, so that its programs run.
_OLDER = {
    "api_version_auto_timeout_ms",
    "bootstrap_topics_filter",
    "buffer_memory",
    "leave_group_on_close",
    "legacy_iterator",
    "sock_chunk_buffer_count",
    "sock_chunk_bytes",
}


def merged(defaults: Mapping[str, Any], configs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with its defaults.

    Raises:
        KafkaConfigurationError: a name is not known.
    """
    unknown = configs.keys() - defaults.keys() - _OLDER
    if unknown:
        raise KafkaConfigurationError(f"Unrecognized configs: {unknown}")
    config = {**defaults, **configs}
    if not isinstance(config["api_version"], str):
        return config
    # An older form of the same.
    text = config["api_version"]
    config["api_version"] = None if text == "auto" else tuple(map(int, text.split(".")))
    return config
