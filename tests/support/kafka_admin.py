"""Topics of the real cluster, through confluent-kafka: a Java tool takes 1.5 s a call.

The client under test is not used here, so that a bug in it cannot hide itself.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not in its __all__
from confluent_kafka.cimpl import NewTopic

from tests.support.jars import REPOSITORY, jar_directory, java

# Of one answer, and of a state: CI's machines are slow, and stand still now and then.
_ANSWER = 20.0
_PATIENCE = 120.0


class ClusterTimeoutError(AssertionError):
    """The cluster did not reach a state in time; the message says which, and what it was."""


@dataclass
class LeaderMoves:
    """What `KafkaAdmin.moving_leaders` has done so far."""

    moves: list[tuple[str, int, int, int]] = field(default_factory=list)
    """Topic, partition, the old leader and the new one."""
    errors: list[str] = field(default_factory=list)
    """Why rounds failed: the controller moved, or a broker gave no response."""


class KafkaAdmin:
    """What tests ask of, and do to, the topics of a cluster.

    Metadata reaches the brokers one after the other, so each live broker is asked, and a wait ends
    when all of them agree.
    """

    def __init__(self, bootstrap: str, live: Callable[[], Sequence[str]]) -> None:
        self._bootstrap = bootstrap
        self._client = _connect(bootstrap)
        self._live = live
        self._views: dict[str, AdminClient] = {}

    def brokers(self) -> dict[int, str | None]:
        """The racks of the brokers that are alive, by id."""
        nodes = self._client.describe_cluster(request_timeout=_ANSWER).result().nodes
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
        """Create a topic without copies: partition 0 on the first of these brokers, and so on."""
        self._create(NewTopic(name, len(leaders), replica_assignment=[[it] for it in leaders]))
        for partition in range(len(leaders)):
            self.wait_for_isr(name, partition, 1)

    def _create(self, topic: NewTopic) -> None:
        created = self._client.create_topics([topic], operation_timeout=60)[topic.topic]
        try:
            created.result()
        except KafkaException as error:
            # It asks again when a broker was too slow to answer, and had made it by then.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it has gone."""
        self._client.delete_topics([name], operation_timeout=60)[name].result()
        wait_until(
            lambda: not any(self._partitions(name, view) for view in self._live()),
            lambda: f"{name} is still there",
        )

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Delete what lies before an offset, as retention would."""
        where = TopicPartition(topic, partition, before)
        for done in self._client.delete_records([where], operation_timeout=60).values():
            done.result()

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """The leader's broker id, -1 if there is none or the brokers disagree."""
        leaders = {leader for leader, _ in self._states(topic, partition)}
        return leaders.pop() if len(leaders) == 1 else -1

    def isr_of(self, topic: str, partition: int = 0) -> list[int]:
        """The broker ids in sync by all accounts, sorted."""
        views = [isr for _, isr in self._states(topic, partition)]
        return sorted(set.intersection(*views)) if views else []

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """The high watermark: the offset that the next record gets."""
        where = TopicPartition(topic, partition)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        found: list[int] = []

        def told() -> bool:
            answer = self._client.list_offsets({where: latest}, request_timeout=_ANSWER)
            found.append(int(answer[where].result().offset))
            return True

        # Whoever led the partition a moment ago may be asked first.
        wait_until(told, lambda: f"the end of {topic}-{partition} is not told")
        return found[0]

    def wait_for_isr(
        self, topic: str, partition: int = 0, size: int = 3, timeout: float = _PATIENCE
    ) -> None:
        """Wait until a partition has a leader and `size` in-sync replicas."""
        wait_until(
            lambda: (
                self.leader_of(topic, partition) >= 0 and len(self.isr_of(topic, partition)) >= size
            ),
            lambda: (
                f"{topic}-{partition}: leader {self.leader_of(topic, partition)}, "
                f"in sync {self.isr_of(topic, partition)}, wanted {size}"
            ),
            timeout,
        )

    def wait_for_new_leader(
        self, topic: str, partition: int, old: int, timeout: float = _PATIENCE
    ) -> int:
        """Wait until another broker than `old` leads a partition; its id."""
        wait_until(
            lambda: self.leader_of(topic, partition) not in (old, -1),
            lambda: f"{topic}-{partition} is still led by {self.leader_of(topic, partition)}",
            timeout,
        )
        return self.leader_of(topic, partition)

    @contextmanager
    def moving_leaders(self, topics: Sequence[str], interval: float = 1.0) -> Iterator[LeaderMoves]:
        """Move the leader of every partition of `topics` each `interval` seconds, until the block
        ends: by reassignment of the replicas and preferred leader election.

        A Java process does it: confluent-kafka has no `alterPartitionReassignments`. The block
        starts with the first move.
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
            [*_java_source("MoveLeaders.java"), self._bootstrap, milliseconds, *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            reader = threading.Thread(target=collect, args=(iter(process.stdout),), daemon=True)
            reader.start()
            try:
                if not started.wait(_PATIENCE):
                    raise ClusterTimeoutError(f"no leader moved: {result.errors}")
                yield result
                assert process.poll() is None, "the process that moves leaders ended"
                process.stdin.close()
                process.wait(_PATIENCE)
            finally:
                process.kill()
                # Nobody may close a pipe that a thread still reads.
                reader.join()

    def members(self, timeout: float = _ANSWER) -> set[int]:
        """The brokers that all live brokers know as alive."""
        views = [
            set(self._view(view).list_topics(timeout=timeout).brokers) for view in self._live()
        ]
        return set.intersection(*views) if views else set()

    def _states(self, topic: str, partition: int) -> list[tuple[int, set[int]]]:
        nothing: tuple[int, set[int]] = (-1, set())
        return [self._partitions(topic, v).get(partition, nothing) for v in self._live()]

    def _partitions(self, topic: str, view: str) -> dict[int, tuple[int, set[int]]]:
        metadata = self._view(view).list_topics(topic, timeout=_ANSWER).topics.get(topic)
        if metadata is None or metadata.error is not None:
            return {}
        return {p.id: (p.leader, set(p.isrs)) for p in metadata.partitions.values()}

    def _view(self, address: str) -> AdminClient:
        # librdkafka connects to the brokers it has learnt of only when it needs them, so that a
        # client with one bootstrap server goes on asking that one.
        if address not in self._views:
            self._views[address] = _connect(address)
        return self._views[address]


def wait_until(
    condition: Callable[[], bool], state: Callable[[], str], timeout: float = _PATIENCE
) -> None:
    """Poll until the condition holds; a broker that does not answer counts as not yet."""
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
    # Killed brokers are the suite's daily bread; librdkafka's word on each is noise.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def _java_source(name: str) -> list[str]:
    # Log4j's own configuration prints errors to standard output, which is read here.
    quiet = ["-Dorg.apache.logging.log4j.level=OFF", "-Xmx256m", "-XX:TieredStopAtLevel=1"]
    source = REPOSITORY / "tests" / "support" / name
    return [java(), *quiet, "-cp", f"{jar_directory('brokers')}/*", str(source)]
