"""``AIOKafkaClient``: a cluster's metadata, for consumers, producers and programs of their own.

Invariant: updates never raise; they return whether they succeeded, as with aiokafka.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ssl import SSLContext
from typing import TypeAlias

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka import errors
from ottla.compat.aiokafka._connection_options import ConnectionOptions, warn_of_api_version
from ottla.compat.aiokafka._error_mapping import bootstrap_error, peer_error
from ottla.compat.aiokafka._version import __version__
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.cluster import ClusterMetadata
from ottla.compat.aiokafka.util import get_running_loop

__all__ = ["AIOKafkaClient"]

_Engine: TypeAlias = ottla.AsyncClient | ottla.AsyncProducer | ottla.AsyncConsumer


class AIOKafkaClient:
    """Looks up brokers, topics and partitions.

    Args:
        loop: the event loop. Default: the running one.
        bootstrap_servers: ``host[:port]``, several with commas between them, or a list. The default
            port is 9092.
        client_id: the name of this client in the brokers' logs and quotas.
        metadata_max_age_ms: milliseconds after which metadata is refreshed.
        request_timeout_ms: milliseconds for a request, and for finding a topic.
        retry_backoff_ms: milliseconds before a request is repeated.
        ssl_context: TLS settings; see ``create_ssl_context``.
        security_protocol: ``PLAINTEXT``, ``SSL``, ``SASL_PLAINTEXT`` or ``SASL_SSL``.
        api_version: deprecated, without effect.
        connections_max_idle_ms: milliseconds after which an idle connection closes; None: never.
        sasl_mechanism: ``PLAIN``, ``GSSAPI``, ``SCRAM-SHA-256``, ``SCRAM-SHA-512`` or
            ``OAUTHBEARER``.
        sasl_plain_username: the user for PLAIN and SCRAM.
        sasl_plain_password: the password for PLAIN and SCRAM.
        sasl_kerberos_service_name: the first part of the brokers' principals.
        sasl_kerberos_domain_name: without effect.
        sasl_oauth_token_provider: provides tokens for OAUTHBEARER; or a name, as in the key
            ``sasl.oauthbearer.token.provider``.
    """

    def __init__(
        self,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        bootstrap_servers: str | Sequence[str] = "localhost",
        client_id: str = "aiokafka-" + __version__,
        metadata_max_age_ms: int = 300000,
        request_timeout_ms: int = 40000,
        retry_backoff_ms: int = 100,
        ssl_context: SSLContext | None = None,
        security_protocol: str = "PLAINTEXT",
        api_version: str | None = None,
        connections_max_idle_ms: int | None = 540000,
        sasl_mechanism: str = "PLAIN",
        sasl_plain_username: str | None = None,
        sasl_plain_password: str | None = None,
        sasl_kerberos_service_name: str = "kafka",
        sasl_kerberos_domain_name: str | None = None,
        sasl_oauth_token_provider: AbstractTokenProvider | str | None = None,
    ) -> None:
        self._loop = loop or get_running_loop()
        warn_of_api_version(api_version)
        self.options = ConnectionOptions(
            bootstrap_servers=bootstrap_servers,
            client_id=client_id,
            metadata_max_age_ms=metadata_max_age_ms,
            request_timeout_ms=request_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            security_protocol=security_protocol,
            ssl_context=ssl_context,
            connections_max_idle_ms=connections_max_idle_ms,
            sasl_mechanism=sasl_mechanism,
            sasl_plain_username=sasl_plain_username,
            sasl_plain_password=sasl_plain_password,
            sasl_kerberos_service_name=sasl_kerberos_service_name,
            sasl_kerberos_domain_name=sasl_kerberos_domain_name,
            sasl_oauth_token_provider=sasl_oauth_token_provider,
        )
        # Instrumentation reads these two.
        self._bootstrap_servers = bootstrap_servers
        self._client_id = client_id
        self.cluster = ClusterMetadata()
        self._topics: set[str] = set()
        self._engine: _Engine | None = None
        self._own_engine: ottla.AsyncClient | None = None
        self._find_topic: Callable[[str], Awaitable[object]] | None = None

    def __repr__(self) -> str:
        """Return the class and the client's id."""
        return f"<AIOKafkaClient client_id={self._client_id}>"

    @property
    def hosts(self) -> list[str]:
        """The bootstrap servers."""
        return self.options.servers()

    async def bootstrap(self) -> None:
        """Connect to the cluster, and look up its metadata.

        Raises:
            KafkaConnectionError: no bootstrap server could be used.
        """
        engine = ottla.AsyncClient(**self.options.to_config(self._loop))
        try:
            await self.connect(engine)
        except BaseException:
            await engine.close()
            raise
        self._own_engine = engine
        self.attach(engine, self.find_with_producer)
        await self.force_metadata_update()

    async def connect(self, engine: _Engine) -> None:
        """Connect a client, a producer or a consumer of ottla.

        Raises:
            KafkaConnectionError: no bootstrap server could be used.
        """
        try:
            await engine.connect()
        except ottla_errors.KafkaError as error:
            raise bootstrap_error(error, self.hosts) from error

    def attach(
        self, engine: _Engine, find_topic: Callable[[str], Awaitable[object]] | None = None
    ) -> None:
        """Use the metadata of a consumer or a producer.

        Args:
            engine: the consumer or the producer of ottla.
            find_topic: waits for a topic, and lets brokers create it. Default: only waits.
        """
        self._engine, self._find_topic = engine, find_topic or self._wait_for_topic

    @property
    def engine(self) -> ottla.AsyncClient | None:
        """The client of ottla that ``bootstrap`` has connected."""
        return self._own_engine

    async def close(self) -> None:
        """Close the connections, unless they belong to a consumer or a producer."""
        self._engine = None
        engine, self._own_engine = self._own_engine, None
        if engine is not None:
            await engine.close()

    def get_random_node(self) -> int | None:
        """Return the id of some broker; None if none is known."""
        brokers = self.cluster.brokers()
        return int(random.choice(list(brokers)).nodeId) if brokers else None  # noqa: S311

    def force_metadata_update(self) -> asyncio.Future[bool]:
        """Request metadata; return a future that says whether it was received."""
        return asyncio.ensure_future(self.update(self._topics or None, refresh=True))

    async def fetch_all_metadata(self) -> ClusterMetadata:
        """Return the metadata of all topics.

        Raises:
            KafkaError: no broker responded in time.
        """
        if not await self.update(None, refresh=True):
            raise errors.KafkaError("Unable to get cluster metadata over all known brokers")
        return self.cluster

    def add_topic(self, topic: str) -> asyncio.Future[bool]:
        """Look up a topic, too; return a future that says whether metadata was received."""
        if topic in self._topics:
            return asyncio.ensure_future(asyncio.sleep(0, True))
        self._topics.add(topic)
        return asyncio.ensure_future(self._wait_and_update(topic))

    def set_topics(self, topics: Iterable[str]) -> asyncio.Future[bool]:
        """Look up these topics only; all of them if there are none."""
        self._topics = set(topics)
        return self.force_metadata_update()

    async def update(self, topics: Iterable[str] | None, refresh: bool = False) -> bool:
        """Take over the engine's metadata, and return whether there is any.

        Args:
            topics: the topics to look up. Default: all.
            refresh: whether to ask a broker even if everything is known.
        """
        engine = self._engine
        if engine is None:
            return False
        names = None if topics is None else sorted(topics)
        try:
            snapshot = await engine.cluster(names, all_topics=names is None, refresh=refresh)
        except ottla_errors.UnknownTopicError:
            return await self.update(None, refresh=True)
        except ottla_errors.KafkaError:
            return False
        self.cluster.replace(snapshot, names)
        return True

    async def _wait_and_update(self, topic: str) -> bool:
        try:
            await self._wait_on_metadata(topic)
        except (errors.KafkaError, ottla_errors.KafkaError):
            return False
        return True

    async def _wait_on_metadata(self, topic: str) -> set[int]:
        """Wait for a topic, which brokers may create, and return its partitions.

        Raises:
            UnknownTopicOrPartitionError: it did not appear within ``request_timeout_ms``.
        """
        partitions = self.cluster.partitions_for_topic(topic)
        if partitions is not None:
            return partitions
        self._topics.add(topic)
        if self._find_topic is None:
            raise errors.KafkaConnectionError("the client is not connected")
        try:
            await self._find_topic(topic)
        except (ottla_errors.UnknownTopicError, ottla_errors.TimeoutError) as error:
            raise errors.UnknownTopicOrPartitionError(str(error)) from error
        except ottla_errors.AuthorizationError as error:
            raise errors.TopicAuthorizationFailedError(topic) from error
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error
        await self.update([topic])
        partitions = self.cluster.partitions_for_topic(topic)
        if partitions is None:
            raise errors.UnknownTopicOrPartitionError(topic)
        return partitions

    async def _wait_for_topic(self, topic: str) -> None:
        """Look up a topic until it exists."""
        deadline = time.monotonic() + self.options.request_timeout_ms / 1000
        while self._engine is not None:
            try:
                await self._engine.cluster([topic], refresh=True)
            except ottla_errors.UnknownTopicError:
                if time.monotonic() >= deadline:
                    raise
                await asyncio.sleep(self.options.retry_backoff_ms / 1000)
            else:
                return

    async def find_with_producer(self, topic: str) -> None:
        """Wait for a topic as a producer does, whose requests let brokers create it."""
        if self._own_engine is not None:
            producer: ottla.AsyncProducer = ottla.AsyncProducer(self._own_engine)
        else:
            producer = ottla.AsyncProducer(**self.options.to_config(self._loop))
        try:
            await asyncio.wait_for(
                producer.send_batch(topic, []), self.options.request_timeout_ms / 1000
            )
        except asyncio.TimeoutError as error:
            raise errors.UnknownTopicOrPartitionError(topic) from error
        finally:
            await producer.close()
