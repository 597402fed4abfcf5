"""Administers the topics of a real cluster through confluent-kafka: a Java tool takes 1.5 s a call.

The client under test is not used here: its bugs must not hide themselves.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
)
from confluent_kafka.cimpl import NewTopic

from tests.support.jars import java_source

# Timeouts in seconds of a request and of a wait: CI machines are slow and pause for seconds.
_REQUEST_TIMEOUT = 20.0
_WAIT_TIMEOUT = 120.0


class ClusterTimeoutError(AssertionError):
    """The cluster did not reach a state in time; the message names both states."""


@dataclass
class LeaderMoves:
    """The progress of `KafkaAdmin.moving_leaders`."""

    moves: list[tuple[str, int, int, int]] = field(default_factory=list)
    """Topic, partition, old leader, new leader."""
    errors: list[str] = field(default_factory=list)
    """Errors of failed rounds: the controller moved, or a broker did not respond."""


class KafkaAdmin:
    """Creates, deletes, inspects and moves topics.

    Metadata reaches brokers one after the other: requests go to every live broker, and a wait ends
    once all of them agree.
    """

    def __init__(self, bootstrap: str, live: Callable[[], Sequence[str]]) -> None:
        self._bootstrap = bootstrap
        self._client = _connect(bootstrap)
        self._live = live
        self._views: dict[str, AdminClient] = {}

    def brokers(self) -> dict[int, str | None]:
        """Return the racks of the live brokers, by id."""
        nodes = self._client.describe_cluster(request_timeout=_REQUEST_TIMEOUT).result().nodes
        return {node.id: node.rack for node in nodes}

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication: int = 3,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and wait until each partition has a leader and its full ISR."""
        self._create(NewTopic(name, partitions, replication, config=dict(config or {})))
        for partition in range(partitions):
            self.wait_for_isr(name, partition, replication)

    def create_topic_led_by(self, name: str, leaders: Sequence[int]) -> None:
        """Create a topic with one replica: partition 0 on the first of these brokers, and so on."""
        self._create(NewTopic(name, len(leaders), replica_assignment=[[it] for it in leaders]))
        for partition in range(len(leaders)):
            self.wait_for_isr(name, partition, 1)

    def _create(self, topic: NewTopic) -> None:
        failed: list[KafkaException] = []

        def create() -> bool:
            created = self._client.create_topics([topic], operation_timeout=60)[topic.topic]
            try:
                created.result()
            except KafkaException as error:
                code = error.args[0].code()
                # A first request may wait for a bootstrap server's connection, which librdkafka
                # drops once it knows the brokers.
                if code == KafkaError._DESTROY_BROKER:
                    return False
                # librdkafka retries after a slow response, when the topic may exist already.
                if code != KafkaError.TOPIC_ALREADY_EXISTS:
                    failed.append(error)
            return True

        wait_until(create, lambda: f"{topic.topic} could not be created")
        if failed:
            raise failed[0]

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until no broker knows it."""
        self._client.delete_topics([name], operation_timeout=60)[name].result()
        wait_until(
            lambda: not any(self._partitions(name, view) for view in self._live()),
            lambda: f"{name} still exists",
        )
        # With ZooKeeper, its name is free later still, and a creation would seem to be a retry.
        new = NewTopic(name, 1, 1)
        wait_until(
            lambda: self._client.create_topics([new], validate_only=True)[name].result() is None,
            lambda: f"the name {name} is not free",
        )

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        position = TopicPartition(topic, partition, before)
        for done in self._client.delete_records([position], operation_timeout=60).values():
            done.result()

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """Return the leader's broker id, or -1 if there is none or the brokers disagree."""
        leaders = {leader for leader, _ in self._states(topic, partition)}
        return leaders.pop() if len(leaders) == 1 else -1

    def isr_of(self, topic: str, partition: int = 0) -> list[int]:
        """Return the broker ids that all brokers report as in sync, sorted."""
        views = [isr for _, isr in self._states(topic, partition)]
        return sorted(set.intersection(*views)) if views else []

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """Return the high watermark: the offset of the next record."""
        position = TopicPartition(topic, partition)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        found: list[int] = []

        def request() -> bool:
            response = self._client.list_offsets(
                {position: latest}, request_timeout=_REQUEST_TIMEOUT
            )
            found.append(int(response[position].result().offset))
            return True

        # The request may reach a broker that has just lost the leadership.
        wait_until(request, lambda: f"no end offset of {topic}-{partition}")
        return found[0]

    def wait_for_isr(
        self, topic: str, partition: int = 0, size: int = 3, timeout: float = _WAIT_TIMEOUT
    ) -> None:
        """Wait until a partition has a leader and `size` in-sync replicas."""
        wait_until(
            lambda: (
                self.leader_of(topic, partition) >= 0 and len(self.isr_of(topic, partition)) >= size
            ),
            lambda: (
                f"{topic}-{partition}: leader {self.leader_of(topic, partition)}, "
                f"in sync {self.isr_of(topic, partition)}, expected {size}"
            ),
            timeout,
        )

    def wait_for_new_leader(
        self, topic: str, partition: int, old: int, timeout: float = _WAIT_TIMEOUT
    ) -> int:
        """Wait until a broker other than `old` leads a partition; return its id."""
        wait_until(
            lambda: self.leader_of(topic, partition) not in (old, -1),
            lambda: f"{topic}-{partition} is still led by {self.leader_of(topic, partition)}",
            timeout,
        )
        return self.leader_of(topic, partition)

    @contextmanager
    def moving_leaders(self, topics: Sequence[str], interval: float = 1.0) -> Iterator[LeaderMoves]:
        """Move every leader of `topics` each `interval` seconds, until the block ends.

        A Java process reassigns the replicas and elects preferred leaders: confluent-kafka has no
        `alterPartitionReassignments`. The block starts after the first move.
        """
        milliseconds = str(round(interval * 1000))
        result, started = LeaderMoves(), threading.Event()

        def collect(lines: Iterator[str]) -> None:
            for line in lines:
                kind, *rest = line.split()
                if kind == "error":
                    result.errors.append(" ".join(rest))
                else:
                    partition, old, new = map(int, rest)
                    result.moves.append((kind, partition, old, new))
                    started.set()

        with subprocess.Popen(
            [*java_source("MoveLeaders.java"), self._bootstrap, milliseconds, *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            reader = threading.Thread(target=collect, args=(iter(process.stdout),), daemon=True)
            reader.start()
            try:
                if not started.wait(_WAIT_TIMEOUT):
                    raise ClusterTimeoutError(f"no leader moved: {result.errors}")
                yield result
                assert process.poll() is None, "the process that moves leaders ended"
                process.stdin.close()
                process.wait(_WAIT_TIMEOUT)
            finally:
                process.kill()
                # The pipe must not be closed while the thread reads it.
                reader.join()

    def leave_transaction_hanging(
        self, topic: str, partition: int, producer_id: int, values: Sequence[str]
    ) -> None:
        """Write records of a transaction that no coordinator knows, and that none will end.

        Brokers prevent this by verifying transactions (KIP-890), which is off meanwhile.
        """
        self.wait_for_isr(topic, partition, 1)
        # Of a new topic, this client may remember that it was unknown.
        leader = self.leader_of(topic, partition)
        broker = self._client.list_topics().brokers[leader]
        arguments = [str(broker.host), str(broker.port), topic, str(partition), str(producer_id)]
        self._verify_transactions(leader, verify=False)
        try:
            subprocess.run(
                [*java_source("HangingTransaction.java"), *arguments, *values],
                check=True,
                timeout=_WAIT_TIMEOUT,
            )
        finally:
            self._verify_transactions(leader, verify=True)

    def _verify_transactions(self, broker: int, *, verify: bool) -> None:
        entry = ConfigEntry(
            "transaction.partition.verification.enable",
            str(verify).lower(),
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource("broker", str(broker), incremental_configs=[entry])
        futures = self._client.incremental_alter_configs([resource])
        [future] = futures.values()
        future.result(_REQUEST_TIMEOUT)

    def members(self, timeout: float = _REQUEST_TIMEOUT) -> set[int]:
        """Return the brokers that every live broker reports as alive."""
        views = [
            set(self._view(view).list_topics(timeout=timeout).brokers) for view in self._live()
        ]
        return set.intersection(*views) if views else set()

    def _states(self, topic: str, partition: int) -> list[tuple[int, set[int]]]:
        nothing: tuple[int, set[int]] = (-1, set())
        return [self._partitions(topic, v).get(partition, nothing) for v in self._live()]

    def _partitions(self, topic: str, view: str) -> dict[int, tuple[int, set[int]]]:
        metadata = self._view(view).list_topics(topic, timeout=_REQUEST_TIMEOUT).topics.get(topic)
        if metadata is None or metadata.error is not None:
            return {}
        return {p.id: (p.leader, set(p.isrs)) for p in metadata.partitions.values()}

    def _view(self, address: str) -> AdminClient:
        # librdkafka connects to other brokers only on demand, so a client with one bootstrap server
        # keeps sending its metadata requests there.
        if address not in self._views:
            self._views[address] = _connect(address)
        return self._views[address]


def wait_until(
    condition: Callable[[], bool], state: Callable[[], str], timeout: float = _WAIT_TIMEOUT
) -> None:
    """Poll until the condition holds; a broker that does not respond counts as false."""
    deadline = time.monotonic() + timeout
    last: KafkaException | None = None
    while time.monotonic() < deadline:
        try:
            if condition():
                return
            last = None
        except KafkaException as error:
            if isinstance(error.args[0], KafkaError) and error.args[0].fatal():
                raise
            last = error
        time.sleep(0.05)
    raise ClusterTimeoutError(f"after {timeout:g} s: {last or state()}")


def _connect(bootstrap: str) -> AdminClient:
    # Tests kill brokers all the time: librdkafka's log lines about them are noise.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
