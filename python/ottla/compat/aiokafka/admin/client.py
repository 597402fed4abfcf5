"""``AIOKafkaAdminClient`` over ``ottla.AsyncAdmin``.

Invariant: the results have the fields of Kafka's protocol, as far as programs read them; errors of
single items are in the results where aiokafka has them there, and raised where it raises them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, TypeVar

import ottla
from ottla import admin as ottla_admin
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import warn_of_api_version
from ottla.compat.aiokafka._error_mapping import peer_error, translated
from ottla.compat.aiokafka._version import __version__
from ottla.compat.aiokafka.abc import AbstractTokenProvider
from ottla.compat.aiokafka.admin import _responses as responses
from ottla.compat.aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from ottla.compat.aiokafka.admin.new_partitions import NewPartitions
from ottla.compat.aiokafka.admin.new_topic import NewTopic
from ottla.compat.aiokafka.admin.records_to_delete import RecordsToDelete
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.errors import KafkaError
from ottla.compat.aiokafka.structs import OffsetAndMetadata, TopicPartition
from ottla.compat.aiokafka.util import get_running_loop

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AIOKafkaAdminClient"]

T = TypeVar("T")

_NO_LEADER = -1


class AIOKafkaAdminClient:
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
        sasl_oauth_token_provider: AbstractTokenProvider | None = None,
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

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> responses.TopicsResponse:
        """Create topics; errors are in ``topic_errors`` of the response.

        Args:
            new_topics: the topics.
            timeout_ms: milliseconds to wait. Default: ``request_timeout_ms``.
            validate_only: whether to check only whether they could be created.
        """
        topics = [
            ottla_admin.NewTopic(
                item.name,
                None if item.num_partitions == -1 else item.num_partitions,
                None if item.replication_factor == -1 else item.replication_factor,
                [item.replica_assignments[number] for number in sorted(item.replica_assignments)]
                or None,
                item.topic_configs,
            )
            for item in new_topics
        ]
        engine, timeout = self._started(), self._seconds(timeout_ms)
        if validate_only:
            return await self._planned(
                [item.name for item in topics],
                engine.create_topics(topics, dry_run=True, timeout=timeout),
            )
        return responses.topics_response(
            await translated(engine.create_topics(topics, errors="return", timeout=timeout))
        )

    async def delete_topics(
        self, topics: Iterable[str], timeout_ms: int | None = None
    ) -> responses.DeleteTopicsResponse:
        """Delete topics; errors are in ``topic_error_codes`` of the response."""
        results = await translated(
            self._started().delete_topics(
                list(topics), errors="return", timeout=self._seconds(timeout_ms)
            )
        )
        return responses.DeleteTopicsResponse(
            [(topic, responses.error_code(error)) for topic, error in results.items()]
        )

    async def list_topics(self) -> list[str]:
        """Return the names of all topics."""
        listed = await translated(self._started().list_topics(internal=True))
        return [item.name for item in listed]

    async def describe_topics(self, topics: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return topics with their partitions. Default: all topics."""
        names = await self.list_topics() if topics is None else list(topics)
        found = await translated(self._started().describe_topics(names, errors="return"))
        return [_topic(name, item) for name, item in found.items()]

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

    async def describe_configs(
        self, config_resources: Iterable[ConfigResource], include_synonyms: bool = False
    ) -> list[responses.ConfigsResponse]:
        """Return the configurations of resources, one response each.

        Args:
            config_resources: the resources, with the keys of interest.
            include_synonyms: whether to list the places that a value may come from.
        """
        listed = list(config_resources)
        calls = [
            self._started().describe_configs(
                [_resource(item)],
                keys=list(item.configs) if item.configs else None,
                errors="return",
            )
            for item in listed
        ]
        described = await asyncio.gather(*map(translated, calls))
        return [
            responses.ConfigsResponse([_described(item, found, synonyms=include_synonyms)])
            for item, result in zip(listed, described, strict=True)
            for found in result.values()
        ]

    async def alter_configs(
        self, config_resources: Iterable[ConfigResource]
    ) -> list[responses.ConfigsResponse]:
        """Replace the configurations of resources: keys that are not named become the default."""
        listed = list(config_resources)
        engine = self._started()
        results = []
        for item in listed:
            resource = _resource(item)
            current = await translated(engine.describe_configs([resource]))
            own = f"DYNAMIC_{resource.type.upper()}_CONFIG"
            alterations: dict[str, ottla_admin.Alteration] = {
                entry.name: None for entry in current[resource].values() if entry.source == own
            }
            alterations.update(item.configs or {})
            altered = await translated(
                engine.alter_configs({resource: alterations}, errors="return")
            )
            error = altered[resource]
            text = None if error is None else str(error)
            code = responses.error_code(error)
            results.append((code, text, int(item.resource_type), str(item.name)))
        return [responses.ConfigsResponse([result]) for result in results]

    async def create_partitions(
        self,
        topic_partitions: Mapping[str, NewPartitions],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> responses.TopicsResponse:
        """Add partitions to topics.

        Args:
            topic_partitions: the new numbers of partitions, by topic.
            timeout_ms: milliseconds to wait. Default: ``request_timeout_ms``.
            validate_only: whether to check only whether they could be created.

        Raises:
            KafkaError: a topic was not changed.
            NotImplementedError: the brokers of new partitions are given.
        """
        if any(item.new_assignments for item in topic_partitions.values()):
            raise NotImplementedError("new_assignments is not supported: let the cluster choose")
        counts = {topic: item.total_count for topic, item in topic_partitions.items()}
        engine, timeout = self._started(), self._seconds(timeout_ms)
        if validate_only:
            plan = engine.create_partitions(counts, dry_run=True, timeout=timeout)
            return await self._planned(list(counts), plan)
        return responses.topics_response(
            await translated(engine.create_partitions(counts, timeout=timeout))
        )

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[responses.GroupsResponse]:
        """Return descriptions of groups; the last two arguments have no effect."""
        del group_coordinator_id, include_authorized_operations
        found = await translated(self._started().describe_groups(list(group_ids), errors="return"))
        return [responses.GroupsResponse([responses.group(*item)]) for item in found.items()]

    async def list_consumer_groups(
        self, broker_ids: Iterable[int] | None = None
    ) -> list[tuple[str, str]]:
        """Return the ids of all groups, and the types of their protocols.

        Args:
            broker_ids: only groups that these brokers coordinate. Default: all.
        """
        brokers = None if broker_ids is None else set(broker_ids)
        listed = await translated(self._started().list_groups())
        return [
            (item.group_id, item.protocol_type)
            for item in listed
            if brokers is None or item.coordinator in brokers
        ]

    async def find_coordinator(self, group_id: str, coordinator_type: int = 0) -> int:
        """Return the id of the broker that coordinates a group.

        Raises:
            NotImplementedError: the coordinator of a transaction is asked for.
        """
        if coordinator_type != 0:
            raise NotImplementedError("only the coordinators of groups can be looked up")
        found = await translated(self._started().describe_groups([group_id]))
        return found[group_id].coordinator

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that a group has committed.

        Args:
            group_id: the group.
            group_coordinator_id: without effect.
            partitions: only of these; -1 for one without an offset. Default: all.
        """
        del group_coordinator_id
        found = (await translated(self._started().list_group_offsets([group_id])))[group_id]
        offsets = {
            TopicPartition(*partition): OffsetAndMetadata(item.offset, item.metadata)
            for partition, item in found.items()
        }
        if partitions is None:
            return offsets
        return {item: offsets.get(item, OffsetAndMetadata(-1, "")) for item in partitions}

    async def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, RecordsToDelete],
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset, and return the first offsets that are left."""
        offsets: dict[tuple[str, int], int] = {
            partition: item.before_offset for partition, item in records_to_delete.items()
        }
        left = await translated(
            self._started().delete_records(offsets, timeout=self._seconds(timeout_ms))
        )
        return {TopicPartition(*partition): offset for partition, offset in left.items()}

    def _started(self) -> ottla.AsyncAdmin:
        if self._engine is None:
            raise KafkaError("the admin client is not started: await start() first")
        return self._engine

    def _seconds(self, timeout_ms: int | None) -> float:
        return (timeout_ms or self._request_timeout_ms) / 1000

    async def _planned(self, names: list[str], plan: Awaitable[object]) -> responses.TopicsResponse:
        """Return the response of a call that only checks."""
        try:
            await plan
        except ottla_errors.KafkaError as error:
            return responses.topics_response(dict.fromkeys(names, error))
        return responses.topics_response(dict.fromkeys(names))


def _resource(item: ConfigResource) -> ottla_admin.ConfigResource:
    is_broker = item.resource_type is ConfigResourceType.BROKER
    return ottla_admin.ConfigResource("broker" if is_broker else "topic", str(item.name))


def _described(
    item: ConfigResource,
    found: dict[str, ottla_admin.ConfigEntry] | ottla_errors.KafkaError,
    *,
    synonyms: bool,
) -> tuple[Any, ...]:
    kind, name = int(item.resource_type), str(item.name)
    if isinstance(found, ottla_errors.KafkaError):
        return (responses.error_code(found), str(found), kind, name, [])
    entries = [responses.config_entry(entry, synonyms=synonyms) for entry in found.values()]
    return (0, None, kind, name, entries)


def _topic(
    name: str, item: ottla_admin.TopicDescription | ottla_errors.KafkaError
) -> dict[str, Any]:
    if isinstance(item, ottla_errors.KafkaError):
        code = responses.error_code(item)
        return {"error_code": code, "topic": name, "is_internal": False, "partitions": []}
    return {
        "error_code": 0,
        "topic": name,
        "is_internal": item.is_internal,
        "partitions": [
            {
                "error_code": 0,
                "partition": partition.partition,
                "leader": _NO_LEADER if partition.leader is None else partition.leader,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "offline_replicas": partition.offline_replicas,
            }
            for partition in item.partitions
        ],
    }
