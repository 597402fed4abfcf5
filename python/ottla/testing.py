"""A Kafka cluster in the process, for tests: real TCP on loopback, real logs, faults on demand.

```python
with ottla.testing.MockCluster(brokers=3) as cluster:
    cluster.create_topic("orders", partitions=6)
    producer = ottla.Producer(cluster.bootstrap)
```

With pytest, the fixture ``mock_cluster`` gives a fresh one to each test.
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
        id: its id.
        instance_id: its ``group.instance.id``.
        client_id: its client's name.
        epoch: the generation, or with KIP-848 the member's epoch.
        assignment: the partitions that it was given, as topic and number.
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
        state: its state by Kafka's name: ``Empty``, ``PreparingRebalance``, ``Stable``, ….
        kind: ``classic``, or ``consumer`` for KIP-848.
        assignor: the assignor that was chosen.
        generation: the generation, or with KIP-848 the group's epoch.
        leader: the member that assigns, in a classic group.
        members: its members.
    """

    state: str
    kind: str
    assignor: str | None
    generation: int
    leader: str | None
    members: tuple[GroupMember, ...]


class Fault:
    """What goes wrong with a request: make one with the class methods, inject it into a cluster."""

    def __init__(self, reaction: dict[str, object]) -> None:
        self.reaction = reaction

    def __repr__(self) -> str:
        kind, value = next(iter(self.reaction.items()), ("none", True))
        return f"Fault.{kind}()" if value is True else f"Fault.{kind}({value!r})"

    @classmethod
    def error(cls, name: str) -> Fault:
        """Answer with an error code, by Kafka's name; nothing of the request is applied."""
        return cls({"error": name})

    @classmethod
    def error_after_handling(cls, name: str) -> Fault:
        """Apply the request, and answer with an error code all the same.

        A leader that loses its place while it waits for its followers answers so
        (``NOT_LEADER_OR_FOLLOWER``). A request that changes nothing is refused, as by `error`.
        """
        return cls({"error_after_handling": name})

    @classmethod
    def disconnect(cls, when: Literal["before", "after"] = "before") -> Fault:
        """Close the connection before the request is applied, or after: its answer is lost."""
        return cls({"disconnect": when})

    @classmethod
    def delay(cls, seconds: float) -> Fault:
        """Handle the request this much later."""
        return cls({"delay": float(seconds)})

    @classmethod
    def throttle(cls, milliseconds: int) -> Fault:
        """Answer with this ``throttle_time_ms``."""
        return cls({"throttle": milliseconds})

    @classmethod
    def silence(cls) -> Fault:
        """Never answer, and keep the connection open."""
        return cls({"silence": True})

    @classmethod
    def omit_partition(cls, index: int) -> Fault:
        """Leave a partition of the fault's topic out of a Metadata response."""
        return cls({"omit_partition": index})

    @classmethod
    def move_leader(cls, to: int) -> Fault:
        """Give the request's partitions another leader before it is handled."""
        return cls({"move_leader": to})

    @classmethod
    def corrupt_records(cls) -> Fault:
        """Flip one bit of the records in the answer."""
        return cls({"corrupt_records": True})

    @classmethod
    def truncate_frame(cls) -> Fault:
        """Send half of the answer, then close the connection."""
        return cls({"truncate_frame": True})

    @classmethod
    def bytes(cls, data: bytes) -> Fault:
        """Send these bytes instead of an answer."""
        return cls({"bytes": data})


class MockCluster:
    """A Kafka cluster of ``brokers`` brokers, with ids from 1, until ``close()``.

    Args:
        brokers: how many brokers.
        racks: racks, given to the brokers in turn. Default: rack-a, rack-b, rack-c.
        auto_create_topics: whether producing to an unknown topic makes it.
        default_partitions: partitions of topics that do not say how many.
        max_message_bytes: the largest batch that is accepted.
        users: names and passwords; clients then have to sign on (``SASL_PLAINTEXT``, with PLAIN,
            SCRAM, or OAUTHBEARER with a password as the token).
        session_lifetime: seconds after which a client has to sign on again.
        without: names of APIs that the brokers do not have, as older ones do not:
            ``ConsumerGroupHeartbeat`` is that of KIP-848's groups.
        group_heartbeat_interval: seconds between two heartbeats that KIP-848's groups ask for.
        group_session_timeout: seconds after which a silent member of theirs is given up.
        group_initial_delay: seconds for which a classic group's first rebalance waits for members.
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
        """The brokers' addresses, as a client wants them."""
        return self._core.bootstrap

    @property
    def brokers(self) -> dict[int, str]:
        """Each broker's address."""
        return self._core.brokers

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic; its leaders are spread over the brokers."""
        self._core.create_topic(name, partitions, replication, dict(configs or {}))

    def set_user(self, user: str, password: str | None) -> None:
        """Give a user a password, or with ``None`` revoke the user; open sessions live on."""
        self._core.set_user(user, password)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._core.delete_topic(name)

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the broker that leads a partition."""
        return self._core.leader(topic, partition)

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make another broker the leader of a partition."""
        self._core.move_leader(topic, partition, to)

    def delete_records(self, topic: str, partition: int, before: int) -> int:
        """Delete what lies before an offset, as retention would; returns the new start."""
        return self._core.delete_records(topic, partition, before)

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the offset that the next record will get."""
        return self._core.end_offset(topic, partition)

    def append(self, topic: str, partition: int, values: Sequence[bytes]) -> int:
        """Append a batch of values as if a producer had; returns the offset of the first."""
        return self._core.append(topic, partition, list(values))

    def append_in_transaction(
        self, topic: str, partition: int, producer_id: int, values: Sequence[bytes]
    ) -> int:
        """Append values in a producer's transaction, open until ``end_transaction``."""
        return self._core.append_in_transaction(topic, partition, producer_id, list(values))

    def end_transaction(self, topic: str, partition: int, producer_id: int, *, commit: bool) -> int:
        """Commit or abort a producer's transaction; returns the offset of its marker."""
        return self._core.end_transaction(topic, partition, producer_id, commit)

    def truncate(self, topic: str, partition: int, offset: int) -> None:
        """Lose the end of a log from an offset on, as an unclean election does."""
        self._core.truncate(topic, partition, offset)

    def coordinator(self, key: str) -> int | None:
        """Return the broker that coordinates a group or a transactional id."""
        return self._core.coordinator(key)

    def move_coordinator(self, key: str, to: int) -> None:
        """Have another broker coordinate a group or a transactional id."""
        self._core.move_coordinator(key, to)

    def group(self, group: str) -> Group | None:
        """Return a group as it is now; ``None`` if there is none of this name."""
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
        """Return the members of a group; none if there is no such group."""
        found = self.group(group)
        return () if found is None else found.members

    def expire_member(self, group: str, member_id: str) -> None:
        """End a member's session, as if it had been silent for too long."""
        self._core.expire_member(group, member_id)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by topic and partition."""
        return self._core.committed(group)

    def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Commit an offset on a group's behalf, whoever is in it."""
        self._core.commit(group, topic, partition, offset)

    def expire_offset(self, group: str, topic: str, partition: int) -> None:
        """Forget a group's offset, as after ``offsets.retention.minutes``."""
        self._core.expire_offset(group, topic, partition)

    def advertise(self, broker: int, address: str) -> None:
        """Have the metadata name another ``host:port`` for a broker than where it listens."""
        host, _, port = address.rpartition(":")
        self._core.advertise(broker, host.strip("[]"), int(port))

    def stop_broker(self, broker: int) -> None:
        """Stop a broker as a crash would: connections break, its leaderships move."""
        self._core.stop_broker(broker)

    def start_broker(self, broker: int) -> None:
        """Start a stopped broker at its old address."""
        self._core.start_broker(broker)

    def connections(self, broker: int) -> int:
        """Return how many connections a broker has."""
        return self._core.connections(broker)

    def request_count(self, api: str, broker: int | None = None) -> int:
        """Return how many requests of an API have come, to one broker or to all."""
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
        """Have a fault happen to the requests that agree with all that is given.

        Args:
            fault: what happens.
            api: the API's name, such as ``Produce``.
            broker: the broker's id.
            topic: the topic.
            partition: the partition.
            skip: how many matching requests pass unharmed first.
            times: how often it happens; always if not given.

        Returns:
            A number for ``fault_hits``.
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
        """Return how often an injected fault has happened."""
        return self._core.fault_hits(fault)

    def clear_faults(self) -> None:
        """End all faults."""
        self._core.clear_faults()

    def close(self) -> None:
        """End the cluster."""
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
