"""The keys of the configuration as keyword arguments, for type checkers and editors.

`Client`, `AsyncClient` and `scan` take ``**kwargs`` of `ClientConfig`, producers of
`ProducerConfig`, consumers of `ConsumerConfig`, `Admin` and `diagnose` of `CommonConfig`.
docs/reference/configuration.md says what each key means. A string that is known only at run time
goes into the mapping ``config`` instead. Invariant: nothing here is used when a program runs.

Made by tools/config_types.py (`make docs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing import TypeAlias

    from ottla.assignors import Assignor
    from ottla.partitioners import BatchPartitioner, Partitioner

    _Number: TypeAlias = int | str | None
    _Flag: TypeAlias = bool | Literal["true", "false"] | None
    _Text: TypeAlias = str | None
    _Texts: TypeAlias = str | Sequence[str] | None
    _Expiry: TypeAlias = float | datetime | None
    _Token: TypeAlias = str | tuple[str, _Expiry] | tuple[str, _Expiry, Mapping[str, str] | None]

__all__ = ["ClientConfig", "CommonConfig", "ConsumerConfig", "ProducerConfig"]


class CommonConfig(TypedDict, total=False):
    """What every client takes: how to find and to reach the cluster."""

    bootstrap_servers: _Texts
    client_id: _Text
    client_rack: _Text
    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"] | None
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] | None
    metadata_max_age_ms: _Number
    events_metadata_max_age_ms: _Number
    metadata_max_idle_ms: _Number
    metadata_recovery_strategy: Literal["rebootstrap", "none"] | None
    metadata_recovery_rebootstrap_trigger_ms: _Number
    request_timeout_ms: _Number
    default_api_timeout_ms: _Number
    socket_connection_setup_timeout_ms: _Number
    socket_connection_setup_timeout_max_ms: _Number
    connections_max_idle_ms: _Number
    reconnect_backoff_ms: _Number
    reconnect_backoff_max_ms: _Number
    retry_backoff_ms: _Number
    retry_backoff_max_ms: _Number
    max_in_flight_requests_per_connection: _Number
    send_buffer_bytes: _Number
    receive_buffer_bytes: _Number
    receive_message_max_bytes: _Number
    metrics_num_samples: _Number
    metrics_sample_window_ms: _Number
    ssl_truststore_location: _Text
    ssl_truststore_certificates: _Text
    ssl_truststore_type: _Text
    ssl_truststore_password: _Text
    ssl_keystore_location: _Text
    ssl_certificate_location: _Text
    ssl_key_location: _Text
    ssl_keystore_certificate_chain: _Text
    ssl_keystore_key: _Text
    ssl_key_password: _Text
    ssl_keystore_type: _Text
    ssl_keystore_password: _Text
    ssl_endpoint_identification_algorithm: _Text
    ssl_enabled_protocols: _Texts
    sasl_mechanism: _Text
    sasl_username: _Text
    sasl_password: _Text
    sasl_jaas_config: _Text
    sasl_kerberos_service_name: _Text
    sasl_kerberos_principal: _Text
    sasl_kerberos_keytab: _Text
    sasl_oauthbearer_token_endpoint_url: _Text
    sasl_oauthbearer_client_credentials_client_id: _Text
    sasl_oauthbearer_client_credentials_client_secret: _Text
    sasl_oauthbearer_scope: _Text
    sasl_oauthbearer_header_urlencode: _Flag
    sasl_oauthbearer_token_endpoint_ssl_truststore_location: _Text
    sasl_oauthbearer_token_endpoint_ssl_truststore_certificates: _Text
    sasl_oauthbearer_token_endpoint_allow_http: _Flag
    sasl_oauthbearer_token_provider: _Text
    sasl_login_callback_handler_class: _Text
    sasl_oauth_token: Callable[[], _Token] | None


class _ProducerKeys(TypedDict, total=False):
    """What concerns producers alone."""

    acks: Literal["all", "1", "0", "-1", 1, 0, -1] | None
    enable_idempotence: _Flag
    retries: _Number
    linger_ms: _Number
    batch_size: _Number
    batch_max_size: _Number
    buffer_memory: _Number
    max_request_size: _Number
    max_block_ms: _Number
    delivery_timeout_ms: _Number
    partitioner_class: _Text
    partitioner_ignore_keys: _Flag
    partitioner_adaptive_partitioning_enable: _Flag
    partitioner_availability_timeout_ms: _Number
    partitioner_rack_aware: _Flag
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None
    compression_gzip_level: _Number
    compression_lz4_level: _Number
    compression_zstd_level: _Number


class _ConsumerKeys(TypedDict, total=False):
    """What concerns consumers and scans alone."""

    check_crcs: _Flag
    fetch_min_bytes: _Number
    fetch_max_bytes: _Number
    fetch_max_wait_ms: _Number
    max_partition_fetch_bytes: _Number
    decompressed_batch_max_bytes: _Number
    isolation_level: Literal["read_uncommitted", "read_committed"] | None
    auto_offset_reset: _Text
    max_poll_records: _Number
    prefetch_max_bytes: _Number
    group_id: _Text
    group_instance_id: _Text
    group_protocol: Literal["classic", "consumer"] | None
    group_remote_assignor: _Text
    session_timeout_ms: _Number
    heartbeat_interval_ms: _Number
    max_poll_interval_ms: _Number
    enable_auto_commit: _Flag
    auto_commit_interval_ms: _Number
    allow_auto_create_topics: _Flag
    exclude_internal_topics: _Flag


class ProducerConfig(CommonConfig, _ProducerKeys, total=False):
    """The keyword arguments of a producer."""

    partitioner: str | Partitioner | BatchPartitioner | None


class ConsumerConfig(CommonConfig, _ConsumerKeys, total=False):
    """The keyword arguments of a consumer."""

    partition_assignment_strategy: str | Assignor | Sequence[str | Assignor] | None


class ClientConfig(CommonConfig, _ProducerKeys, _ConsumerKeys, total=False):
    """The keyword arguments of a client, whose producers and consumers take them from it."""

    partitioner: str | None
    partition_assignment_strategy: str | Sequence[str] | None
