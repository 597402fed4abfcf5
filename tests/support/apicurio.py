"""A real schema registry on loopback: Apicurio Registry with its storage in memory.

    with ApicurioRegistry() as registry:
        SchemaRegistryClient({"url": registry.url})

Used by the fixture `apicurio`. The archive comes from `tools/jars.sh apicurio`. Invariant: the
process never outlives the one that started it, as a `KafkaNode` never does.
"""

from __future__ import annotations

import http.client
import shutil
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from tests.support.jars import REPOSITORY, jars
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

_LOGS = REPOSITORY / ".ottla-build" / "log"
_START_TIMEOUT = 120.0
_COMPATIBLE, _OWN = "/apis/ccompat/v7", "/apis/registry/v3"


class ApicurioRegistry:
    """A process of Apicurio Registry, with Confluent's API at `url` and its own at `own_url`."""

    def __init__(self) -> None:
        [archive] = jars("apicurio")
        (port,) = free_ports(1)
        self.directory = Path(tempfile.mkdtemp(prefix="ottla-apicurio-"))
        home = self.directory / "registry"
        properties = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": str(port),
            # H2 without a file is the default of this kind.
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
        }
        configured = f"-Dquarkus.config.locations={home / 'server.properties'}"
        jvm = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", configured]
        main = "io.quarkus.runner.GeneratedMain"
        self.node = KafkaNode(0, home, port, properties, [*jvm, "-cp", str(archive)], main=main)
        base = f"http://{self.node.address}"
        self.url, self.own_url = base + _COMPATIBLE, base + _OWN
        self._ready = f"{base}/health/ready"

    def start(self) -> ApicurioRegistry:
        """Start it, and wait until it is ready; an error contains its log."""
        try:
            self.node.start()
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill it and delete its files."""
        self.node.remove()
        if self.directory.is_dir():
            self.directory.rmdir()

    def restart(self) -> None:
        """Start it again at the same address after `node.kill`, without its schemas."""
        self.node.start()
        self._wait_until_ready()

    def keep_log(self) -> Path:
        """Copy the log to where it stays after `stop`."""
        _LOGS.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(self.node.log, _LOGS / "apicurio.log"))

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT
        while not self._is_ready():
            if self.node.pid is None:
                raise RuntimeError(
                    f"Apicurio ended during its start; its log ends:\n{self.node.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"Apicurio is not ready after {_START_TIMEOUT:.0f} s; its log ends:\n"
                    + self.node.log_tail()
                )
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(self._ready, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, http.client.HTTPException, OSError):
            return False

    def __enter__(self) -> ApicurioRegistry:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
