"""A Kafka cluster in the process, for tests: real TCP on loopback, real logs, injected faults.

```python
with ottla.testing.MockCluster(brokers=3) as cluster:
    cluster.create_topic("orders", partitions=6)
    producer = ottla.Producer(cluster.bootstrap)
```

With pytest, the fixture ``mock_cluster`` gives a new one to each test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from ottla import _core

__all__ = ["Fault", "Group", "GroupMember", "MockCluster"]


@dataclass(frozen=True)
class GroupMember:
    """A member of a group, as its coordinator sees it.

    Attributes:
        id: the member's id.
        instance_id: its ``group.instance.id`` (KIP-345), or None.
        client_id: its ``client.id``.
        epoch: the group's generation, or the member's epoch with KIP-848.
        assignment: its partitions, as topic and number.
    """

    id: str
    instance_id: str | None
    client_id: str
    epoch: int
    assignment: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Group:
    """A consumer group, as its coordinator sees it.

    Attributes:
        state: Kafka's name of its state: ``Empty``, ``PreparingRebalance``, ``Stable``, ….
        kind: ``classic``, or ``consumer`` for KIP-848.
        assignor: the name of the assignor in use, or None.
        generation: the generation, or the group's epoch with KIP-848.
        leader: the id of the member that assigns, in a classic group.
        members: its members.
    """

    state: str
    kind: str
    assignor: str | None
    generation: int
    leader: str | None
    members: tuple[GroupMember, ...]


class Fault:
    """A fault: make one with a class method, and pass it to ``MockCluster.inject``.

    Args:
        reaction: the fault as a dict with one key; use the class methods instead.
    """

    def __init__(self, reaction: dict[str, object]) -> None:
        self.reaction = reaction

    def __repr__(self) -> str:
        kind, value = next(iter(self.reaction.items()), ("none", True))
        return f"Fault.{kind}()" if value is True else f"Fault.{kind}({value!r})"

    @classmethod
    def error(cls, name: str) -> Fault:
        """Return a fault that responds with an error code; the request has no effect.

        Args:
            name: Kafka's name of the code, such as ``NOT_LEADER_OR_FOLLOWER``.
        """
        return cls({"error": name})

    @classmethod
    def error_after_handling(cls, name: str) -> Fault:
        """Return a fault that handles the request, but responds with an error code.

        A leader that loses its leadership while it waits for its followers does so
        (``NOT_LEADER_OR_FOLLOWER``). A request that changes nothing is rejected, as with
        ``error``.

        Args:
            name: Kafka's name of the code.
        """
        return cls({"error_after_handling": name})

    @classmethod
    def disconnect(cls, when: Literal["before", "after"] = "before") -> Fault:
        """Return a fault that closes the connection instead of responding.

        Args:
            when: ``before`` the request is handled; or ``after``, so that only its response is
                lost.
        """
        return cls({"disconnect": when})

    @classmethod
    def delay(cls, seconds: float) -> Fault:
        """Return a fault that handles the request later.

        Args:
            seconds: the delay in seconds.
        """
        return cls({"delay": float(seconds)})

    @classmethod
    def throttle(cls, milliseconds: int) -> Fault:
        """Return a fault that sets ``throttle_time_ms`` in the response (KIP-219).

        Args:
            milliseconds: the throttle time in milliseconds.
        """
        return cls({"throttle": milliseconds})

    @classmethod
    def silence(cls) -> Fault:
        """Return a fault that never responds, and keeps the connection open."""
        return cls({"silence": True})

    @classmethod
    def omit_partition(cls, index: int) -> Fault:
        """Return a fault that omits a partition of its topic from a Metadata response.

        Args:
            index: the partition's number; ``inject`` names the topic.
        """
        return cls({"omit_partition": index})

    @classmethod
    def move_leader(cls, to: int) -> Fault:
        """Return a fault that moves the leadership of the request's partitions first.

        Args:
            to: the id of the new leader.
        """
        return cls({"move_leader": to})

    @classmethod
    def corrupt_records(cls) -> Fault:
        """Return a fault that flips one bit of the records in the response."""
        return cls({"corrupt_records": True})

    @classmethod
    def truncate_frame(cls) -> Fault:
        """Return a fault that sends half of the response, and closes the connection."""
        return cls({"truncate_frame": True})

    @classmethod
    def bytes(cls, data: bytes) -> Fault:
        """Return a fault that sends these bytes instead of a response.

        Args:
            data: the bytes.
        """
        return cls({"bytes": data})


class MockCluster:
    """A Kafka cluster in this process; its brokers have ids from 1 and listen on loopback.

    Use it in a ``with`` block, or ``close()`` it. Methods raise ``ConfigError`` if a topic, a
    partition or a broker does not exist, and ``ClosedError`` once the cluster was closed.

    Args:
        brokers: the number of brokers, 1 to 1,000.
        racks: racks, assigned to the brokers in turn. Default: rack-a, rack-b, rack-c.
        auto_create_topics: whether producing to an unknown topic creates it.
        default_partitions: the number of partitions of topics that do not specify it.
        max_message_bytes: the largest batch that brokers accept, in bytes.
        users: passwords by user name. With them, clients must authenticate (``SASL_PLAINTEXT``, by
            PLAIN, SCRAM, or OAUTHBEARER with a password as the token).
        session_lifetime: seconds after which a client must authenticate again (KIP-368).
        without: names of APIs that the brokers lack, as older brokers do;
            ``ConsumerGroupHeartbeat`` is the API of KIP-848's groups.
        group_heartbeat_interval: seconds between the heartbeats of members with KIP-848.
        group_session_timeout: seconds after which a silent member with KIP-848 is removed.
        group_initial_delay: seconds that the first rebalance of a classic group waits for members.

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
    ) -> None:
        self._core = _core.MockCluster(
            brokers,
            racks=None if racks is None else list(racks),
            auto_create_topics=auto_create_topics,
            default_partitions=default_partitions,
            max_message_bytes=max_message_bytes,
            users=None if users is None else dict(users),
            session_lifetime=session_lifetime,
            without=list(without),
            group_heartbeat_interval=group_heartbeat_interval,
            group_session_timeout=group_session_timeout,
            group_initial_delay=group_initial_delay,
        )

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, as ``bootstrap.servers`` takes them."""
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
            configs: the topic's configuration, by Kafka's names.

        Raises:
            ConfigError: the topic exists, or an argument is wrong.
        """
        self._core.create_topic(name, partitions, replication, dict(configs or {}))

    def set_user(self, user: str, password: str | None) -> None:
        """Set a user's password, or remove the user. Open sessions continue.

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
        """
        return self._core.append(topic, partition, list(values))

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
        """
        return self._core.append_in_transaction(topic, partition, producer_id, list(values))

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

    def coordinator(self, key: str) -> int | None:
        """Return the id of the broker that coordinates a group or a transactional id, or None.

        Args:
            key: the ``group.id`` or ``transactional.id``.
        """
        return self._core.coordinator(key)

    def move_coordinator(self, key: str, to: int) -> None:
        """Make another broker the coordinator of a group or a transactional id.

        Args:
            key: the ``group.id`` or ``transactional.id``.
            to: the id of the new coordinator.
        """
        self._core.move_coordinator(key, to)

    def group(self, group: str) -> Group | None:
        """Return a group as it is now, or None if it does not exist.

        Args:
            group: the ``group.id``.
        """
        found = self._core.group(group)
        if found is None:
            return None
        state, kind, assignor, generation, leader, members = found
        named = (
            GroupMember(member_id, instance, client, epoch, tuple(assignment))
            for member_id, instance, client, epoch, assignment in members
        )
        return Group(state, kind, assignor, generation, leader, tuple(named))

    def members(self, group: str) -> tuple[GroupMember, ...]:
        """Return the members of a group; an empty tuple if it does not exist.

        Args:
            group: the ``group.id``.
        """
        found = self.group(group)
        return () if found is None else found.members

    def expire_member(self, group: str, member_id: str) -> None:
        """End a member's session, as if its heartbeats had not arrived.

        Args:
            group: the ``group.id``.
            member_id: the member's id.

        Raises:
            ConfigError: the group has no such member.
        """
        self._core.expire_member(group, member_id)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition.

        Args:
            group: the ``group.id``.
        """
        return self._core.committed(group)

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset for a group, whether or not it has members.

        Args:
            group: the ``group.id``.
            topic: the topic.
            partition: the partition.
            offset: the offset of the next record to read.
        """
        self._core.commit(group, topic, partition, offset)

    def expire_offset(self, group: str, topic: str, partition: int) -> None:
        """Remove an offset of a group, as ``offsets.retention.minutes`` does.

        Args:
            group: the ``group.id``.
            topic: the topic.
            partition: the partition.
        """
        self._core.expire_offset(group, topic, partition)

    def advertise(self, broker: int, address: str) -> None:
        """Advertise another address for a broker, as wrong ``advertised.listeners`` do.

        Args:
            broker: the broker's id.
            address: the address as ``host:port``; the broker does not listen there.
        """
        host, _, port = address.rpartition(":")
        self._core.advertise(broker, host.strip("[]"), int(port))

    def stop_broker(self, broker: int) -> None:
        """Stop a broker, as a crash does: its connections break, and its leaderships move.

        Args:
            broker: the broker's id.

        Raises:
            OSError: there is no such broker.
        """
        self._core.stop_broker(broker)

    def start_broker(self, broker: int) -> None:
        """Start a stopped broker at its old address.

        Args:
            broker: the broker's id.

        Raises:
            OSError: there is no such broker, or its port is in use.
        """
        self._core.start_broker(broker)

    def connections(self, broker: int) -> int:
        """Return the number of a broker's connections.

        Args:
            broker: the broker's id.
        """
        return self._core.connections(broker)

    def request_count(self, api: str, broker: int | None = None) -> int:
        """Return the number of requests of an API so far.

        Args:
            api: the API's name, such as ``Produce``.
            broker: the broker's id. Default: all brokers.
        """
        return self._core.request_count(api, broker)

    def inject(
        self,
        fault: Fault,
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault into the requests that match all given conditions.

        Args:
            fault: the fault.
            api: the API's name, such as ``Produce``.
            broker: the broker's id.
            topic: the topic.
            partition: the partition.
            skip: the number of matching requests that pass unharmed first.
            times: the number of requests that it hits. Default: all.

        Returns:
            The fault's number, for ``fault_hits``.

        Raises:
            ConfigError: there is no such API, or no such error code.
        """
        return self._core.inject(
            fault.reaction,
            api=api,
            broker=broker,
            topic=topic,
            partition=partition,
            skip=skip,
            times=times,
        )

    def fault_hits(self, fault: int) -> int:
        """Return how many requests a fault has hit; 0 if it was removed.

        Args:
            fault: the fault's number, from ``inject``.
        """
        return self._core.fault_hits(fault)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._core.clear_faults()

    def close(self) -> None:
        """Stop all brokers. Closing a cluster again has no effect."""
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
