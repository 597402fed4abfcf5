"""The arguments that aiokafka's clients share, and the configuration of ottla that they mean.

Invariants: arguments are refused as by aiokafka. No secret is part of a repr.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

from ottla.compat.aiokafka._tls import tls_config
from ottla.compat.aiokafka.abc import AbstractTokenProvider

__all__ = ["ConnectionOptions", "log", "warn_of_api_version"]

log = logging.getLogger("ottla.compat")

_PROTOCOLS = ("SSL", "PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS = ("PLAIN", "GSSAPI", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_DEFAULT_PORT = 9092
# Idle connections stay open, since None turns the check off.
_NO_IDLE_LIMIT_MS = 2**31 - 1


def warn_of_api_version(api_version: object) -> None:
    """Warn of an argument that has no effect, at the caller of the constructor that calls this."""
    if api_version is not None:
        warnings.warn(
            "The `api_version` parameter has no effect: the versions are negotiated.",
            DeprecationWarning,
            stacklevel=3,
        )


@dataclass(frozen=True)
class ConnectionOptions:
    """How to find the cluster and connect to it."""

    bootstrap_servers: str | Sequence[str]
    client_id: str
    metadata_max_age_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    security_protocol: str
    ssl_context: SSLContext | None
    connections_max_idle_ms: int | None
    sasl_mechanism: str
    sasl_plain_username: str | None
    sasl_plain_password: str | None = field(repr=False)
    sasl_kerberos_service_name: str
    sasl_kerberos_domain_name: str | None
    sasl_oauth_token_provider: AbstractTokenProvider | str | None

    def __post_init__(self) -> None:
        """Refuse what aiokafka refuses.

        Raises:
            ValueError: the security protocol, the mechanism or their arguments are invalid.
        """
        if self.security_protocol not in _PROTOCOLS:
            raise ValueError("`security_protocol` should be SSL or PLAINTEXT")
        if self._has_tls and self.ssl_context is None:
            raise ValueError("`ssl_context` is mandatory if security_protocol=='SSL'")
        if not self._has_sasl:
            return
        if self.sasl_mechanism not in _MECHANISMS:
            raise ValueError(f"sasl_mechanism must be one of {', '.join(_MECHANISMS)}")
        if self.sasl_mechanism == "PLAIN" and (
            self.sasl_plain_username is None or self.sasl_plain_password is None
        ):
            raise ValueError("sasl_plain_username and sasl_plain_password required for PLAIN sasl")
        if self.sasl_mechanism == "OAUTHBEARER" and not isinstance(
            self.sasl_oauth_token_provider, (AbstractTokenProvider, str)
        ):
            raise ValueError(
                "sasl_oauth_token_provider needs to be an AbstractTokenProvider for OAUTHBEARER"
            )

    @property
    def _has_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def _has_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    def to_config(self, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        """Return the keyword arguments for ottla's classes."""
        idle = self.connections_max_idle_ms
        config: dict[str, Any] = {
            "bootstrap_servers": [_with_port(server) for server in self.servers()],
            "client_id": self.client_id,
            "metadata_max_age_ms": self.metadata_max_age_ms,
            "request_timeout_ms": self.request_timeout_ms,
            "default_api_timeout_ms": self.request_timeout_ms,
            "retry_backoff_ms": self.retry_backoff_ms,
            "retry_backoff_max_ms": max(self.retry_backoff_ms, 1000),
            "connections_max_idle_ms": _NO_IDLE_LIMIT_MS if idle is None else idle,
            "security_protocol": self.security_protocol,
        }
        if self._has_tls and self.ssl_context is not None:
            config |= tls_config(self.ssl_context)
        if self._has_sasl:
            config |= self._sasl_config(loop)
        return config

    def servers(self) -> list[str]:
        """Return the bootstrap servers as they were passed."""
        servers = self.bootstrap_servers
        listed = servers.split(",") if isinstance(servers, str) else servers
        return [server.strip() for server in listed]

    def _sasl_config(self, loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
        config: dict[str, Any] = {"sasl_mechanism": self.sasl_mechanism}
        if self.sasl_mechanism == "GSSAPI":
            config["sasl_kerberos_service_name"] = self.sasl_kerberos_service_name
            if self.sasl_kerberos_domain_name is not None:
                log.warning(
                    "sasl_kerberos_domain_name has no effect: the brokers' principals have the"
                    " host names that the client connects to"
                )
        elif self.sasl_oauth_token_provider is not None and self.sasl_mechanism == "OAUTHBEARER":
            provider = self.sasl_oauth_token_provider
            if isinstance(provider, str):
                # By name, which aiokafka does not have.
                config["sasl_oauthbearer_token_provider"] = provider
            else:
                config["sasl_oauth_token"] = _token_source(provider, loop)
        else:
            config["sasl_username"] = self.sasl_plain_username
            config["sasl_password"] = self.sasl_plain_password
        return config


def _with_port(server: str) -> str:
    """Return a server with a port; an IPv6 address is written in brackets."""
    if server.startswith("["):
        return server if "]:" in server else f"{server}:{_DEFAULT_PORT}"
    if server.count(":") > 1:
        return f"[{server}]:{_DEFAULT_PORT}"
    return server if ":" in server else f"{server}:{_DEFAULT_PORT}"


class _token_source:  # noqa: N801 - used as a function
    """Gets tokens from a provider, whose coroutine runs on the application's loop."""

    def __init__(self, provider: AbstractTokenProvider, loop: asyncio.AbstractEventLoop) -> None:
        self._provider = provider
        self._loop = loop

    def __call__(self) -> tuple[str, None, dict[str, str]]:
        future = asyncio.run_coroutine_threadsafe(self._provider.token(), self._loop)
        return future.result(), None, dict(self._provider.extensions())
