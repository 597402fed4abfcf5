"""kafka-python's configuration as ottla's.

Invariants: what would change what a program is allowed to trust (a revocation list, a proxy, no
verification of certificates) is refused and never ignored; what merely tunes another client is
named once, in one warning. No value of the configuration is logged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ottla.compat.kafka._security import security
from ottla.compat.kafka.errors import KafkaConfigurationError

__all__ = [
    "bootstrap_timeout",
    "check_api_timeout",
    "check_consumer",
    "common",
    "consumer",
    "is_cooperative",
    "number",
    "producer",
    "warn_of_no_effect",
]

log = logging.getLogger("ottla.compat")

_LARGEST = 2**31 - 1
_PORT = 9092

_SAME_NAMES = (
    "client_id",
    "client_dns_lookup",
    "security_protocol",
)
_SAME_NUMBERS = (
    "request_timeout_ms",
    "default_api_timeout_ms",
    "connections_max_idle_ms",
    "reconnect_backoff_ms",
    "reconnect_backoff_max_ms",
    "retry_backoff_ms",
    "max_in_flight_requests_per_connection",
    "metadata_max_age_ms",
    "receive_message_max_bytes",
    "receive_buffer_bytes",
    "send_buffer_bytes",
    "socket_connection_setup_timeout_ms",
    "socket_connection_setup_timeout_max_ms",
    "metrics_num_samples",
    "metrics_sample_window_ms",
)
_CONSUMER_NUMBERS = (
    "fetch_max_wait_ms",
    "fetch_min_bytes",
    "fetch_max_bytes",
    "max_partition_fetch_bytes",
    "auto_commit_interval_ms",
    "max_poll_records",
    "max_poll_interval_ms",
    "session_timeout_ms",
    "heartbeat_interval_ms",
)
_NO_EFFECT = (
    "bootstrap_topics_filter",
    "enable_incremental_fetch_sessions",
    "kafka_client",
    "leave_group_on_close",
    "legacy_iterator",
    "metric_reporters",
    "net",
    "sasl_kerberos_domain_name",
    "selector",
    "sock_chunk_buffer_count",
    "sock_chunk_bytes",
    "socket_options",
    "ssl_ciphers",
)
_RESETS = {"earliest": "earliest", "smallest": "earliest", "latest": "latest", "largest": "latest"}


def number(value: Any) -> int:
    """Return a number of kafka-python, which may be infinite, as ottla's."""
    return _LARGEST if value == float("inf") else min(int(value), _LARGEST)


def bootstrap_timeout(config: Mapping[str, Any]) -> float:
    """Return the seconds in which a new client must find the cluster."""
    older = config.get("api_version_auto_timeout_ms")
    value = config["bootstrap_timeout_ms"] if older is None else older
    return number(value) / 1000


def warn_of_no_effect(client: str, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Log one warning that names the arguments that have no effect."""
    ignored = [
        name
        for name in _NO_EFFECT
        if name in config and config[name] != defaults.get(name) and config[name] is not None
    ]
    if ignored:
        log.warning("%s: these arguments have no effect: %s", client, ", ".join(ignored))


def _servers(servers: str | Sequence[str]) -> list[str]:
    texts = servers.split(",") if isinstance(servers, str) else list(servers)
    return [_with_port(re.sub(r"^.*://", "", text.strip())) for text in texts]


def _with_port(address: str) -> str:
    if address.startswith("["):
        return address if "]:" in address else f"{address}:{_PORT}"
    colons = address.count(":")
    if colons > 1:
        return f"[{address}]:{_PORT}"
    return address if colons else f"{address}:{_PORT}"


def _numbers(config: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: number(config[name]) for name in names if config.get(name) is not None}


def common(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every client needs: how to find and to connect to the cluster."""
    result: dict[str, Any] = {"bootstrap_servers": _servers(config["bootstrap_servers"])}
    result |= {name: config[name] for name in _SAME_NAMES if config[name] is not None}
    result |= _numbers(config, _SAME_NUMBERS)
    # ottla requires that a maximum is not below what it limits.
    result["retry_backoff_max_ms"] = max(1_000, result["retry_backoff_ms"])
    for name in ("reconnect_backoff", "socket_connection_setup_timeout"):
        least, most = f"{name}_ms", f"{name}_max_ms"
        result[most] = max(result[least], result[most])
    return result | security(config)


def consumer(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a consumer."""
    result = common(config) | _numbers(config, _CONSUMER_NUMBERS)
    result["auto_offset_reset"] = _RESETS.get(config["auto_offset_reset"], "none")
    result["isolation_level"] = _isolation_level(config["isolation_level"])
    for name in ("check_crcs", "allow_auto_create_topics", "exclude_internal_topics"):
        result[name] = bool(config[name])
    if config["client_rack"]:
        result["client_rack"] = config["client_rack"]
    # Without a group nothing can be committed.
    grouped = config["group_id"] is not None
    result["enable_auto_commit"] = bool(config["enable_auto_commit"]) and grouped
    if grouped:
        result["group_id"] = config["group_id"]
        result["partition_assignment_strategy"] = _assignors(
            config["partition_assignment_strategy"]
        )
        if config["group_instance_id"] is not None:
            result["group_instance_id"] = config["group_instance_id"]
    return result


def is_cooperative(config: Mapping[str, Any]) -> bool:
    """Whether members keep their partitions during a rebalance."""
    return _assignors(config["partition_assignment_strategy"]) == ["cooperative-sticky"]


def check_api_timeout(config: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse calls that end before one request may; a default follows the request's time."""
    total, single = config["default_api_timeout_ms"], config["request_timeout_ms"]
    if total < single and "default_api_timeout_ms" in given:
        raise KafkaConfigurationError(
            f"default_api_timeout_ms ({total}) must be >= request_timeout_ms ({single})."
        )
    config["default_api_timeout_ms"] = max(total, single)


def check_consumer(config: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse what kafka-python refuses."""
    idle, request = config["connections_max_idle_ms"], config["request_timeout_ms"]
    if not config["fetch_max_wait_ms"] < request < idle:
        raise KafkaConfigurationError(
            f"fetch_max_wait_ms ({config['fetch_max_wait_ms']}) must be below request_timeout_ms "
            f"({request}), and that below connections_max_idle_ms ({idle})"
        )
    check_api_timeout(config, given)
    if config["group_instance_id"] is not None and config["group_id"] is None:
        raise KafkaConfigurationError("group_instance_id requires group_id")


def _isolation_level(value: Any) -> str:
    name = getattr(value, "name", value)
    level = {0: "read_uncommitted", 1: "read_committed"}.get(name, name)
    if str(level).lower() not in ("read_uncommitted", "read_committed"):
        raise KafkaConfigurationError("Unrecognized isolation_level")
    return str(level).lower()


def _assignors(strategy: Any) -> list[str]:
    known = ("range", "roundrobin", "sticky", "cooperative-sticky")
    listed = [strategy] if isinstance(strategy, str) or hasattr(strategy, "name") else strategy
    names = [each if isinstance(each, str) else getattr(each, "name", None) for each in listed]
    if not all(name in known for name in names):
        raise KafkaConfigurationError(
            "partition_assignment_strategy: expected assignors of kafka.coordinator.assignors; for "
            "one of your own, see ottla.assignors"
        )
    return [str(name) for name in names]


def producer(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a producer.

    Args:
        config: the configuration, after its contradictions were resolved.
        given: what the program has passed.
    """
    names = ["linger_ms", "max_block_ms", "max_request_size", "delivery_timeout_ms"]
    # Left out, a batch may grow while it has to wait.
    names += [name for name in ("batch_size", "buffer_memory") if name in given]
    result = common(config) | _numbers(config, names)
    result["acks"] = "all" if config["acks"] == -1 else config["acks"]
    result["retries"] = number(config["retries"])
    result["enable_idempotence"] = config["enable_idempotence"]
    result["compression_type"] = config["compression_type"] or "none"
    # ottla requires the sum of these two to be within the third, as Java does.
    limit = result["delivery_timeout_ms"]
    result["linger_ms"] = min(result["linger_ms"], max(0, limit - 1))
    result["request_timeout_ms"] = max(
        1, min(result["request_timeout_ms"], limit - result["linger_ms"])
    )
    return result
