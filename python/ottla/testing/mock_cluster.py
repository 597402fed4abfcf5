"""The cluster itself: its brokers, topics, logs and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from ottla import _core
from ottla._internal.arguments import collection, mapping, names, texts
from ottla._internal.required_arguments import octets
from ottla.testing.brokers import BrokerOperations
from ottla.testing.fault_operations import FaultOperations
from ottla.testing.group import GroupOperations
from ottla.testing.reassignments import ReassignmentOperations
from ottla.testing.telemetry import TelemetryOperations
from ottla.testing.transactions import TransactionOperations


class MockCluster(
    BrokerOperations,
    FaultOperations[_core.MockCluster],
    GroupOperations,
    ReassignmentOperations,
    TelemetryOperations,
    TransactionOperations,
):
    """A Kafka cluster in this process; its brokers have ids from 1 and listen on loopback.

    Use it in a ``with`` block, or ``close()`` it. Methods raise ``ConfigError`` if a topic, a
    partition or a broker does not exist, and ``ClosedError`` once the cluster is closed.

    Args:
        brokers: the number of brokers, 1 to 1,000.
        racks: racks, assigned to the brokers in turn. Default: rack-a, rack-b, rack-c.
        auto_create_topics: whether producing to an unknown topic creates it.
        default_partitions: the number of partitions of topics that do not specify it.
        max_message_bytes: the largest batch that brokers accept, in bytes.
        users: passwords by user name. With them, clients must authenticate (``SASL_PLAINTEXT``, by
            PLAIN, SCRAM, or OAUTHBEARER with a password as the token).
        session_lifetime: seconds after which a client must authenticate again (KIP-368).
        without: names of APIs that the brokers do not support, to imitate older brokers;
            ``ConsumerGroupHeartbeat`` is the API of KIP-848 groups, ``ShareGroupHeartbeat`` that of
            share groups.
        group_heartbeat_interval: seconds between the heartbeats of members with KIP-848, and of
            share groups.
        group_session_timeout: seconds after which a silent member with KIP-848, or of a share
            group, is removed.
        group_initial_delay: seconds that the first rebalance of a classic group waits for members.
        share_lock_duration: seconds that a member of a share group has a record before others may
            get it.
        transaction_version: the level of the feature ``transaction.version``: 2 for version 2 of
            the transaction protocol (KIP-890), 0 or 1 for version 1; None for brokers that do not
            know the feature.
        transaction_max_timeout: the largest ``transaction.timeout.ms``, in seconds.
        client_telemetry: whether the brokers take the metrics of clients (KIP-714), as those with
            a telemetry receiver do.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        racks: Sequence[str] | None = None,
        auto_create_topics: bool = True,
        default_partitions: int = 1,
        max_message_bytes: int = 1_048_588,
        users: Mapping[str, str] | None = None,
        session_lifetime: float | None = None,
        without: Sequence[str] = (),
        group_heartbeat_interval: float = 0.2,
        group_session_timeout: float = 45.0,
        group_initial_delay: float = 0.01,
        share_lock_duration: float = 30.0,
        transaction_version: int | None = 2,
        transaction_max_timeout: float = 900.0,
        client_telemetry: bool = False,
    ) -> None:
        self._core = _core.MockCluster(
            brokers,
            racks=None if racks is None else names("racks", racks),
            auto_create_topics=auto_create_topics,
            default_partitions=default_partitions,
            max_message_bytes=max_message_bytes,
            users=None if users is None else mapping("users", users, '{"name": "password"}'),
            session_lifetime=session_lifetime,
            without=names("without", without),
            group_heartbeat_interval=group_heartbeat_interval,
            group_session_timeout=group_session_timeout,
            group_initial_delay=group_initial_delay,
            share_lock_duration=share_lock_duration,
            transaction_version=transaction_version,
            transaction_max_timeout=transaction_max_timeout,
            client_telemetry=client_telemetry,
        )

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as a value of ``bootstrap.servers``."""
        return self._core.bootstrap

    @property
    def brokers(self) -> dict[int, str]:
        """The address of each broker as ``host:port``, by id; stopped ones included."""
        return self._core.brokers

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic; its leaders are spread over the brokers.

        Args:
            name: the topic's name.
            partitions: the number of partitions. Default: ``default_partitions``.
            replication: the number of replicas. Default: 3, or all running brokers if fewer.
            configs: the topic's configuration, by Kafka's keys.

        Raises:
            ConfigError: the topic exists, or an argument is wrong.
        """
        given = texts("configs", configs or {}, '{"retention.ms": "3600000"}')
        self._core.create_topic(name, partitions, replication, given)

    def set_user(self, user: str, password: str | None) -> None:
        """Set a user's password for every mechanism, or remove the user.

        Open sessions continue.

        Args:
            user: the user's name.
            password: the password; None removes the user.
        """
        self._core.set_user(user, password)

    def delete_topic(self, name: str) -> None:
        """Delete a topic.

        Args:
            name: the topic's name.

        Raises:
            ConfigError: there is no such topic.
        """
        self._core.delete_topic(name)

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of the broker that leads a partition, or None.

        Args:
            topic: the topic.
            partition: the partition.
        """
        return self._core.leader(topic, partition)

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another in-sync replica the leader of a partition.

        Args:
            topic: the topic.
            partition: the partition.
            to: the id of the new leader.

        Raises:
            ConfigError: the broker has no replica in sync, or the partition does not exist.
        """
        self._core.move_leader(topic, partition, to)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete the records before an offset, as retention does.

        Args:
            topic: the topic.
            partition: the partition.
            before: the first offset to keep.

        Returns:
            The new start of the log.
        """
        return self._core.delete_records(topic, partition, before)

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the partition's high watermark: the offset after the last record.

        Args:
            topic: the topic.
            partition: the partition.
        """
        return self._core.end_offset(topic, partition)

    def append(self, topic: str, partition: int, values: Sequence[bytes]) -> int:
        """Append a batch of values without a producer.

        Args:
            topic: the topic.
            partition: the partition.
            values: the values; the records have no keys.

        Returns:
            The offset of the first.

        Raises:
            ArgumentTypeError: ``values`` is no list of bytes.
            ConfigError: the topic or the partition does not exist.
        """
        return self._core.append(topic, partition, _values(values))

    def append_in_transaction(
        self, topic: str, partition: int, producer_id: int, values: Sequence[bytes]
    ) -> int:
        """Append values in a transaction, which stays open until ``end_transaction``.

        Args:
            topic: the topic.
            partition: the partition.
            producer_id: the id of the transaction's producer.
            values: the values; the records have no keys.

        Returns:
            The offset of the first.

        Raises:
            ArgumentTypeError: ``values`` is no list of bytes.
            ConfigError: the topic or the partition does not exist.
        """
        return self._core.append_in_transaction(topic, partition, producer_id, _values(values))

    def end_transaction(self, topic: str, partition: int, producer_id: int, *, commit: bool) -> int:
        """Commit or abort a transaction.

        Args:
            topic: the topic.
            partition: the partition.
            producer_id: the id of the transaction's producer.
            commit: whether to commit; otherwise it is aborted.

        Returns:
            The offset of the marker.
        """
        return self._core.end_transaction(topic, partition, producer_id, commit)

    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """Remove the end of a log, as an unclean leader election does.

        Args:
            topic: the topic.
            partition: the partition.
            offset: the first offset to remove.
        """
        self._core.truncate(topic, partition, offset)

    def request_count(self, api: str, broker: int | None = None) -> int:
        """Return the number of requests of an API so far.

        Args:
            api: the API's name, such as ``Produce``.
            broker: the broker's id. Default: all brokers.
        """
        return self._core.request_count(api, broker)

    def close(self) -> None:
        """Stop all brokers. Closing a closed cluster has no effect."""
        self._core.close()

    def __enter__(self) -> MockCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._core)


def _values(values: Sequence[bytes]) -> list[bytes]:
    """Return the argument ``values``.

    Raises:
        ArgumentTypeError: it is no list of bytes.
    """
    items = collection("values", values, '[b"abc"]')
    return [octets(f"values[{index}]", value) for index, value in enumerate(items)]
