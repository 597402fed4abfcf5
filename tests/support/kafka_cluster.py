"""A real Kafka cluster on loopback: combined KRaft nodes, one process each, racks and all.

    with KafkaCluster() as kafka:
        kafka.create_topic("orders", partitions=3)
        kafka.kill(kafka.leader_of("orders", 0))

Used by the fixture `kafka`, by benches/peers and by hand (`python -m tests.support`). Every
configuration that is not Kafka's default is in `kafka_properties`, with its reason.
"""

from __future__ import annotations

import atexit
import base64
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

from tests.support import kafka_properties
from tests.support.jars import REPOSITORY, jar_directory, java
from tests.support.kafka_admin import ClusterTimeoutError, KafkaAdmin, wait_until
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

_SUPPORT = REPOSITORY / "tests" / "support"

# Sets of jars that tools/jars.sh fetches: today's brokers, and older ones.
CURRENT = "brokers"
ZOOKEEPER_RELEASES = ("kafka-2.8",)
OLDER = ("kafka-3.9", *ZOOKEEPER_RELEASES)
OLDEST = "kafka-2.8"

# Many short-lived JVMs on few cores; a benchmark wants LONG_LIVED.
_SHORT_LIVED = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LONG_LIVED = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
_ATTEMPTS_TO_HEAL = 2
_SESSION = "broker.session.timeout.ms"


@dataclass(frozen=True)
class Host:
    """Where a broker runs: its address, and a command that runs another one there."""

    address: str = "127.0.0.1"
    enter: Sequence[str] = ()


# More configuration, the same for all brokers or made for each.
Config: TypeAlias = Mapping[str, str] | Callable[[KafkaNode], Mapping[str, str]]


class KafkaCluster(KafkaAdmin):
    """Brokers that start together, die one by one, and leave nothing behind."""

    def __init__(
        self,
        brokers: int = 3,
        config: Config | None = None,
        racks: Sequence[str] = ("rack-a", "rack-b", "rack-c"),
        jvm: Sequence[str] = _SHORT_LIVED,
        start_timeout: float = 240,
        release: str = CURRENT,
        hosts: Sequence[Host] = (Host(),),
    ) -> None:
        self._classpath = f"{jar_directory(release)}/*"
        self.release = release
        self._start_timeout = start_timeout
        self.directory = Path(tempfile.mkdtemp(prefix="ottla-kafka-"))
        self.servers: list[KafkaNode] = []
        self.nodes: dict[int, KafkaNode] = {}
        self._not_healed: list[RuntimeError] = []
        jvm = [*jvm, *self._jvm()]
        if release in ZOOKEEPER_RELEASES:
            self._place_with_zookeeper(brokers, racks, jvm)
        else:
            self._place(brokers, racks, jvm, [hosts[i % len(hosts)] for i in range(brokers)])
        for node in self.nodes.values():
            node.properties |= config(node) if callable(config) else config or {}
        super().__init__(self.bootstrap, self._live_addresses)

    def _place(
        self, brokers: int, racks: Sequence[str], jvm: list[str], hosts: Sequence[Host]
    ) -> None:
        ports = free_ports(2 * brokers)
        voters = ",".join(
            f"{i + 1}@{hosts[i].address}:{ports[brokers + i]}" for i in range(brokers)
        )
        # The first bit is clear, or one id in 64 would start with "-" and be taken for an option.
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
                enter=host.enter,
                cluster_id=cluster_id,
            )

    def _place_with_zookeeper(self, brokers: int, racks: Sequence[str], jvm: list[str]) -> None:
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
        """All brokers' addresses, as `bootstrap.servers`."""
        return ",".join(node.address for node in self.nodes.values())

    def start(self) -> KafkaCluster:
        """Start all nodes together and wait until all are members; raises with a log if not."""
        atexit.register(self.stop)
        try:
            for node in [*self.servers, *self.nodes.values()]:
                node.start()
            self._wait_for_all()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill the brokers and delete what they wrote."""
        atexit.unregister(self.stop)
        for node in [*self.nodes.values(), *self.servers]:
            node.remove()
        if self.directory.is_dir():
            self.directory.rmdir()

    def kill(self, broker_id: int) -> None:
        """SIGKILL a broker; its port refuses connections when this returns."""
        calm = kafka_properties.SETTINGS[_SESSION]
        if len(self.nodes) > 1 and self.nodes[broker_id].properties.get(_SESSION) == calm:
            raise RuntimeError(
                "this cluster would not notice for a minute: mark the test `fault`, or give its"
                " cluster kafka_properties.FAST_FAILOVER"
            )
        self.nodes[broker_id].kill()

    def restart(self, broker_id: int) -> None:
        """Start a broker again (after a clean shutdown, if it runs) and wait until it is back."""
        node = self.nodes[broker_id]
        node.shut_down()
        node.start()
        self._wait_for_all()

    def move(self, ports: Sequence[int]) -> None:
        """Stop all brokers and start them, with all that they have, at other ports."""
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
        """Bring back whatever a test stopped.

        What can't be brought back twice is given up (a full disk, say), so that all other tests
        fail at once and with its reason, and do not each wait for it.
        """
        if len(self._not_healed) >= _ATTEMPTS_TO_HEAL:
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

    def run_tool(self, main: str, *arguments: str, stdin: str = "", timeout: float = 240) -> str:
        """Run a Java command of kafka-tools, such as org.apache.kafka.tools.TopicCommand."""
        done = subprocess.run(
            self._tool(main, *arguments),
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
        """Start a Java command that goes on until it is told to end; its output is a pipe."""
        return subprocess.Popen(
            self._tool(main, *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _tool(self, main: str, *arguments: str) -> list[str]:
        quiet = ["-Dottla.log.target=SYSTEM_ERR", "-Dottla.log.level=error", "-Xmx256m"]
        return [java(), *quiet, "-XX:TieredStopAtLevel=1", *self._jvm(), main, *arguments]

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
        if self.release != CURRENT:
            logging = f"-Dlog4j.configuration=file:{_SUPPORT / 'log4j.properties'}"
        return [logging, "-cp", self._classpath]

    def _live_addresses(self) -> list[str]:
        return [node.address for node in self.nodes.values() if node.pid is not None]

    def _wait_for_all(self) -> None:
        started = time.monotonic()
        wanted = {n for n, node in self.nodes.items() if node.pid is not None}

        def alive() -> bool:
            for node_id in wanted:
                if self.nodes[node_id].pid is None:
                    raise self._failure(node_id, "ended while starting")
            # Not longer: meanwhile nobody sees that the one who is asked has ended.
            return wanted <= self.members(timeout=5)

        try:
            wait_until(alive, lambda: f"alive are {sorted(self.members())}", self._start_timeout)
        except (ClusterTimeoutError, KafkaException) as error:
            seconds = time.monotonic() - started
            raise self._failure(min(wanted), f"not ready after {seconds:.0f} s: {error}") from error

    def _failure(self, node_id: int, what: str) -> RuntimeError:
        return RuntimeError(
            f"broker {node_id} {what}; its log ends:\n{self.nodes[node_id].log_tail()}"
        )
