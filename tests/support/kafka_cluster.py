"""A real Kafka cluster on loopback: combined KRaft nodes with racks, one process each.

    with KafkaCluster() as kafka:
        kafka.create_topic("orders", partitions=3)
        kafka.kill(kafka.leader_of("orders", 0))

Used by the fixture `kafka`, by benches/peers and by hand (`python -m tests.support`). All
configuration that differs from Kafka's defaults is in `kafka_properties`, with its reason.
"""

from __future__ import annotations

import atexit
import base64
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from confluent_kafka import KafkaException

from ottla.testing import Gateway
from tests.support import kafka_properties, kafka_releases
from tests.support.jars import REPOSITORY, class_path, java
from tests.support.kafka_admin import ClusterTimeoutError, KafkaAdmin, wait_until
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_releases import LOG4J_1_RELEASES, ZOOKEEPER_RELEASES, main_class, selected
from tests.support.ports import free_ports

_SUPPORT = REPOSITORY / "tests" / "support"

# Options for many short-lived JVMs on few cores; benchmarks use LONG_LIVED.
_SHORT_LIVED = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LONG_LIVED = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
_HEAL_ATTEMPTS = 2
_SESSION = "broker.session.timeout.ms"


@dataclass(frozen=True)
class Host:
    """A host for a broker: its address, and a command prefix that runs programs there."""

    address: str = "127.0.0.1"
    exec_prefix: Sequence[str] = ()


# Additional configuration, the same for all brokers or computed for each.
Config: TypeAlias = Mapping[str, str] | Callable[[KafkaNode], Mapping[str, str]]


class KafkaCluster(KafkaAdmin):
    """A cluster whose brokers start together and may be killed one by one; leaves no files."""

    def __init__(
        self,
        brokers: int = 3,
        config: Config | None = None,
        racks: Sequence[str] = ("rack-a", "rack-b", "rack-c"),
        jvm: Sequence[str] = _SHORT_LIVED,
        start_timeout: float = 240,
        release: str | None = None,
        hosts: Sequence[Host] = (Host(),),
        classes: Sequence[Path] = (),
    ) -> None:
        self.release = release = release or selected()
        self._class_path = class_path(release, *classes)
        self._start_timeout = start_timeout
        self._gateway: Gateway | None = None
        self.directory = Path(tempfile.mkdtemp(prefix="ottla-kafka-"))
        self.servers: list[KafkaNode] = []
        self.nodes: dict[int, KafkaNode] = {}
        self._not_healed: list[RuntimeError] = []
        # The default of a new cluster; Kafka before 4.0 has no other.
        self._transaction_version = 2 if kafka_releases.number(release) >= (4, 0) else 0
        jvm = [*jvm, *self._jvm()]
        if release in ZOOKEEPER_RELEASES:
            self._configure_zookeeper(brokers, racks, jvm)
        else:
            self._configure_kraft(
                brokers, racks, jvm, [hosts[i % len(hosts)] for i in range(brokers)]
            )
        for node in self.nodes.values():
            node.properties |= config(node) if callable(config) else config or {}
        super().__init__(self.bootstrap, self._live_addresses)

    def _configure_kraft(
        self, brokers: int, racks: Sequence[str], jvm: list[str], hosts: Sequence[Host]
    ) -> None:
        ports = free_ports(2 * brokers)
        voters = ",".join(
            f"{i + 1}@{hosts[i].address}:{ports[brokers + i]}" for i in range(brokers)
        )
        # With the first bit set, one id in 64 would start with "-" and be parsed as an option.
        random = bytes([uuid.uuid4().bytes[0] & 0x7F]) + uuid.uuid4().bytes[1:]
        cluster_id = base64.urlsafe_b64encode(random).decode().rstrip("=")
        for i, host in enumerate(hosts):
            node_id, directory = i + 1, self.directory / f"broker-{i + 1}"
            properties = {
                **kafka_properties.common(brokers, directory, racks[i % len(racks)]),
                **kafka_properties.kraft(
                    node_id, host.address, ports[i], ports[brokers + i], voters
                ),
            }
            self.nodes[node_id] = KafkaNode(
                node_id,
                directory,
                ports[i],
                properties,
                jvm,
                host=host.address,
                exec_prefix=host.exec_prefix,
                cluster_id=cluster_id,
            )

    def _configure_zookeeper(self, brokers: int, racks: Sequence[str], jvm: list[str]) -> None:
        zookeeper_port, *ports = free_ports(1 + brokers)
        home = self.directory / "zookeeper"
        self.servers.append(
            KafkaNode(
                0,
                home,
                zookeeper_port,
                kafka_properties.zookeeper("127.0.0.1", zookeeper_port, home),
                jvm,
                main="org.apache.zookeeper.server.quorum.QuorumPeerMain",
            )
        )
        for i, port in enumerate(ports):
            directory = self.directory / f"broker-{i + 1}"
            properties = {
                **kafka_properties.common(brokers, directory, racks[i % len(racks)]),
                **kafka_properties.zookeeper_broker(i + 1, "127.0.0.1", port, zookeeper_port),
            }
            self.nodes[i + 1] = KafkaNode(i + 1, directory, port, properties, jvm)

    @property
    def bootstrap(self) -> str:
        """All brokers' addresses, as a value of `bootstrap.servers`."""
        if self._gateway is not None:
            return self._gateway.bootstrap
        return ",".join(node.address for node in self.nodes.values())

    def start(self) -> KafkaCluster:
        """Start all nodes and wait until all are members; an error contains the broker's log."""
        atexit.register(self.stop)
        try:
            for node in [*self.servers, *self.nodes.values()]:
                node.start()
            self._wait_for_all()
        except BaseException:
            self.stop()
            raise
        if os.environ.get("OTTLA_TEST_GATEWAY"):
            self._gateway = Gateway(self.bootstrap)
        return self

    def stop(self) -> None:
        """Kill the brokers and delete their files."""
        atexit.unregister(self.stop)
        for node in [*self.nodes.values(), *self.servers]:
            node.remove()
        if self.directory.is_dir():
            self.directory.rmdir()

    def kill(self, broker_id: int) -> None:
        """Send SIGKILL to a broker; afterwards, its port refuses connections."""
        default = kafka_properties.SETTINGS[_SESSION]
        if len(self.nodes) > 1 and self.nodes[broker_id].properties.get(_SESSION) == default:
            raise RuntimeError(
                "this cluster would detect the failure only after a minute: mark the test `fault`,"
                " or configure the cluster with kafka_properties.FAST_FAILOVER"
            )
        self.nodes[broker_id].kill()

    def restart(self, broker_id: int) -> None:
        """Restart a broker, cleanly if it is running, and wait until it is a member."""
        node = self.nodes[broker_id]
        node.shut_down()
        node.start()
        self._wait_for_all()

    def move(self, ports: Sequence[int]) -> None:
        """Restart all brokers with their data at other ports."""
        for node in self.nodes.values():
            node.kill()
        for node, port in zip(self.nodes.values(), ports, strict=True):
            old, new = f"PLAINTEXT://{node.address}", f"PLAINTEXT://{node.host}:{port}"
            for key in ("listeners", "advertised.listeners"):
                node.properties[key] = node.properties[key].replace(old, new)
            node.port = port
        super().__init__(self.bootstrap, self._live_addresses)
        for node in self.nodes.values():
            node.start()
        self._wait_for_all()

    def heal(self) -> None:
        """Restart or resume the brokers that a test stopped.

        After two failures (a full disk, for example) it raises the first error at once, so that the
        remaining tests fail with that reason and without a wait.
        """
        if len(self._not_healed) >= _HEAL_ATTEMPTS:
            raise self._not_healed[0]
        for node in self.nodes.values():
            node.resume()
        dead = [node for node in self.nodes.values() if node.pid is None]
        for node in dead:
            node.start()
        try:
            if dead:
                self._wait_for_all()
        except RuntimeError as error:
            self._not_healed.append(error)
            raise
        self._not_healed.clear()

    def set_transaction_version(self, level: int) -> None:
        """Finalize a level of the feature ``transaction.version``; no change takes no time."""
        if level == self._transaction_version:
            return
        command = "upgrade" if level > self._transaction_version else "downgrade"
        self.run_tool(
            "org.apache.kafka.tools.FeatureCommand",
            *("--bootstrap-server", self.bootstrap, command),
            *("--feature", f"transaction.version={level}"),
        )
        self._transaction_version = level

    def run_tool(self, main: str, *arguments: str, stdin: str = "", timeout: float = 240) -> str:
        """Run a Java command of kafka-tools, such as org.apache.kafka.tools.TopicCommand."""
        done = subprocess.run(
            self.tool(main, *arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{main} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def start_tool(self, main: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a Java command that runs until it is terminated; its output is a pipe."""
        return subprocess.Popen(
            self.tool(main, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def tool(self, main: str, *arguments: str) -> list[str]:
        """Return the command line of a Java command of kafka-tools."""
        target = "System.err" if self.release in LOG4J_1_RELEASES else "SYSTEM_ERR"
        quiet = [f"-Dottla.log.target={target}", "-Dottla.log.level=error", "-Xmx256m"]
        return [
            java(),
            *quiet,
            "-XX:TieredStopAtLevel=1",
            *self._jvm(),
            main_class(self.release, main),
            *arguments,
        ]

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
        logging = f"-Dlog4j2.configurationFile={_SUPPORT / 'log4j2.properties'}"
        if self.release in LOG4J_1_RELEASES:
            logging = f"-Dlog4j.configuration=file:{_SUPPORT / 'log4j.properties'}"
        return [logging, *self._class_path]

    def _live_addresses(self) -> list[str]:
        return [node.address for node in self.nodes.values() if node.pid is not None]

    def _wait_for_all(self) -> None:
        started = time.monotonic()
        expected = {n for n, node in self.nodes.items() if node.pid is not None}

        def alive() -> bool:
            for node_id in expected:
                if self.nodes[node_id].pid is None:
                    raise self._failure(node_id, "ended during its start")
            # A longer timeout would delay the check above.
            return expected <= self.members(timeout=5)

        try:
            wait_until(
                alive, lambda: f"live brokers: {sorted(self.members())}", self._start_timeout
            )
        except (ClusterTimeoutError, KafkaException) as error:
            seconds = time.monotonic() - started
            raise self._failure(
                min(expected), f"not ready after {seconds:.0f} s: {error}"
            ) from error

    def _failure(self, node_id: int, what: str) -> RuntimeError:
        return RuntimeError(
            f"broker {node_id} {what}; its log ends:\n{self.nodes[node_id].log_tail()}"
        )
