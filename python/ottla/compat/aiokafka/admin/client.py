"""``AIOKafkaAdminClient`` over ``ottla.AsyncAdmin``.

It connects, and describes the cluster; ``_topics``, ``_configs`` and ``_groups`` have the other
calls. Invariant: the results have the fields of Kafka's protocol, as far as programs read them;
errors of single items are in the results where aiokafka has them there, and raised where it raises
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from ssl import SSLContext
from typing import TYPE_CHECKING, Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import warn_of_api_version
from ottla.compat.aiokafka._error_mapping import peer_error, translated
from ottla.compat.aiokafka._version import __version__
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.admin._configs import ConfigCalls
from ottla.compat.aiokafka.admin._groups import GroupCalls
from ottla.compat.aiokafka.admin._topics import TopicCalls
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.util import get_running_loop

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AIOKafkaAdminClient"]


class AIOKafkaAdminClient(TopicCalls, ConfigCalls, GroupCalls):
    """Manages a cluster. The arguments are described at ``AIOKafkaClient``."""

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        bootstrap_servers: str | Sequence[str] = "localhost",
        client_id: str = "aiokafka-" + __version__,
        request_timeout_ms: int = 40000,
        connections_max_idle_ms: int | None = 540000,
        retry_backoff_ms: int = 100,
        metadata_max_age_ms: int = 300000,
        security_protocol: str = "PLAINTEXT",
        ssl_context: SSLContext | None = None,
        api_version: str | None = None,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_username: str | None = None,
        sasl_plain_password: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | str | None = None,
    ) -> None:
        self._loop = loop or get_running_loop()
        warn_of_api_version(api_version)
        self._client = AIOKafkaClient(
            loop=self._loop,
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
            metadata_max_age_ms=metadata_max_age_ms,
            request_timeout_ms=request_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            ssl_context=ssl_context,
            security_protocol=security_protocol,
            connections_max_idle_ms=connections_max_idle_ms,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_username=sasl_plain_username,
            sasl_plain_password=sasl_plain_password,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
        )
        self._request_timeout_ms = request_timeout_ms
        self._engine: ottla.AsyncAdmin | None = None

    async def start(self) -> None:
        """Connect.

        Raises:
            KafkaConnectionError: no bootstrap server could be used.
        """
        if self._engine is not None:
            return
        await self._client.bootstrap()
        try:
            self._engine = ottla.AsyncAdmin(self._client.engine)
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error

    async def close(self) -> None:
        """Close the connections."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()
        await self._client.close()

    async def __aenter__(self) -> Self:
        """Connect."""
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Close the connections."""
        await self.close()

    async def describe_cluster(self) -> dict[str, Any]:
        """Return the cluster's id, its controller and its brokers."""
        described = await translated(self._started().describe_cluster())
        return {
            "throttle_time_ms": 0,
            "brokers": [
                {"node_id": item.id, "host": item.host, "port": item.port, "rack": item.rack}
                for item in described.brokers
            ],
            "cluster_id": described.cluster_id,
            "controller_id": described.controller,
        }
