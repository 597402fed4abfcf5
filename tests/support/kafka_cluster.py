"""A real Kafka cluster on loopback: combined KRaft nodes, one process each, racks and all.

    with KafkaCluster() as kafka:
        kafka.create_topic("orders", partitions=3)
        kafka.kill(kafka.leader_of("orders", 0))

Used by the fixture `kafka`, by benches/peers and by hand (`python -m tests.support`). Every
configuration that is not Kafka's default is in `_SETTINGS` or `_properties`, with its reason.
"""

from __future__ import annotations

import atexit
import base64
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException

from tests.support.jars import REPOSITORY, jar_directory, java
from tests.support.kafka_admin import ClusterTimeoutError, KafkaAdmin, wait_until
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

_LOG4J = REPOSITORY / "tests" / "support" / "log4j2.properties"

_SETTINGS = {
    # A test that forgets to create its topic should hear so.
    "auto.create.topics.enable": "false",
    # The internal topics on all nodes, so that any node may be killed; few partitions start fast.
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    # A killed node loses its leaderships within 3 s (9 by default), a killed controller its seat
    # within 1 to 2.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "replica.lag.time.max.ms": "5000",
    "replica.fetch.wait.max.ms": "100",
    # Groups settle at once.
    "group.initial.rebalance.delay.ms": "0",
    # Leaders move only when a test moves them.
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "true",
    # Aborted and expired transactions in test time.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "1000",
    # Compaction in test time.
    "log.cleaner.backoff.ms": "200",
    "num.recovery.threads.per.data.dir": "2",
    "num.network.threads": "2",
    "num.io.threads": "4",
}

# Many short-lived JVMs on few cores; a benchmark wants LONG_LIVED.
_SHORT_LIVED = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LONG_LIVED = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")


class KafkaCluster(KafkaAdmin):
    """Brokers that start together, die one by one, and leave nothing behind."""

    def __init__(
        self,
        brokers: int = 3,
        config: Mapping[str, str] | None = None,
        racks: Sequence[str] = ("rack-a", "rack-b", "rack-c"),
        jvm: Sequence[str] = _SHORT_LIVED,
        start_timeout: float = 90,
    ) -> None:
        self._classpath = f"{jar_directory('brokers')}/*"
        self._start_timeout = start_timeout
        self.directory = Path(tempfile.mkdtemp(prefix="ottla-kafka-"))
        ports = free_ports(2 * brokers)
        voters = ",".join(f"{i + 1}@127.0.0.1:{ports[brokers + i]}" for i in range(brokers))
        # The first bit is clear, or one id in 64 would start with "-" and be taken for an option.
        random = bytes([uuid.uuid4().bytes[0] & 0x7F]) + uuid.uuid4().bytes[1:]
        cluster_id = base64.urlsafe_b64encode(random).decode().rstrip("=")
        self.nodes: dict[int, KafkaNode] = {}
        for i in range(brokers):
            node_id, directory = i + 1, self.directory / f"broker-{i + 1}"
            properties = {
                **_SETTINGS,
                "node.id": str(node_id),
                "process.roles": "broker,controller",
                "controller.quorum.voters": voters,
                "listeners": f"PLAINTEXT://127.0.0.1:{ports[i]},"
                f"CONTROLLER://127.0.0.1:{ports[brokers + i]}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{ports[i]}",
                "controller.listener.names": "CONTROLLER",
                "log.dirs": str(directory / "data"),
                "broker.rack": racks[i % len(racks)],
                **{k: str(min(int(_SETTINGS[k]), brokers)) for k in _SETTINGS if _is_replica(k)},
                **(config or {}),
            }
            self.nodes[node_id] = KafkaNode(
                node_id, directory, ports[i], properties, cluster_id, [*jvm, *self._jvm()]
            )
        super().__init__(self.bootstrap, self._live_addresses)

    @property
    def bootstrap(self) -> str:
        """All brokers' addresses, as `bootstrap.servers`."""
        return ",".join(node.address for node in self.nodes.values())

    def start(self) -> KafkaCluster:
        """Start all nodes together and wait until all are members; raises with a log if not."""
        atexit.register(self.stop)
        try:
            for node in self.nodes.values():
                node.start()
            self._wait_for_all()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill the brokers and delete what they wrote."""
        atexit.unregister(self.stop)
        for node in self.nodes.values():
            node.remove()
        if self.directory.is_dir():
            self.directory.rmdir()

    def kill(self, broker_id: int) -> None:
        """SIGKILL a broker; its port refuses connections when this returns."""
        self.nodes[broker_id].kill()

    def restart(self, broker_id: int) -> None:
        """Start a broker again (after a clean shutdown, if it runs) and wait until it is back."""
        node = self.nodes[broker_id]
        node.shut_down()
        node.start()
        self._wait_for_all()

    def heal(self) -> None:
        """Bring back whatever a test stopped."""
        for node in self.nodes.values():
            node.resume()
        dead = [node for node in self.nodes.values() if node.pid is None]
        for node in dead:
            node.start()
        if dead:
            self._wait_for_all()

    def run_tool(self, main: str, *arguments: str, stdin: str = "", timeout: float = 60) -> str:
        """Run a Java command of kafka-tools, such as org.apache.kafka.tools.TopicCommand."""
        quiet = ["-Dottla.log.target=SYSTEM_ERR", "-Dottla.log.level=error", "-Xmx256m"]
        done = subprocess.run(
            [java(), *quiet, "-XX:TieredStopAtLevel=1", *self._jvm(), main, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{main} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def __enter__(self) -> KafkaCluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _jvm(self) -> list[str]:
        return [f"-Dlog4j2.configurationFile={_LOG4J}", "-cp", self._classpath]

    def _live_addresses(self) -> list[str]:
        return [node.address for node in self.nodes.values() if node.pid is not None]

    def _wait_for_all(self) -> None:
        started = time.monotonic()
        wanted = {n for n, node in self.nodes.items() if node.pid is not None}

        def alive() -> bool:
            for node_id in wanted:
                if self.nodes[node_id].pid is None:
                    raise self._failure(node_id, "ended while starting")
            return wanted <= self.members()

        try:
            wait_until(alive, lambda: f"alive are {sorted(self.members())}", self._start_timeout)
        except (ClusterTimeoutError, KafkaException) as error:
            seconds = time.monotonic() - started
            raise self._failure(min(wanted), f"not ready after {seconds:.0f} s: {error}") from error

    def _failure(self, node_id: int, what: str) -> RuntimeError:
        return RuntimeError(
            f"broker {node_id} {what}; its log ends:\n{self.nodes[node_id].log_tail()}"
        )


def _is_replica(key: str) -> bool:
    return key.endswith(("replication.factor", "min.isr"))
