"""A standalone Spark cluster on loopback: master, workers and executors in their own processes.

Invariant: `stop` ends every process that `start` started, executors included, and leaves no files.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_ports
from tests.support.spark_home import spark_home

_EXECUTOR = "CoarseGrainedExecutorBackend"


class SparkCluster:
    """`with SparkCluster(workers=2) as cluster: ...`; a driver connects to `cluster.url`."""

    def __init__(
        self,
        workers: int = 2,
        cores: int = 2,
        start_timeout: float = 240,
        exec_prefix: Sequence[str] = (),
    ) -> None:
        """`exec_prefix` is a command prefix that starts the workers, and so their executors."""
        self._workers, self._cores = workers, cores
        self._exec_prefix = list(exec_prefix)
        self._start_timeout = start_timeout
        (port,) = free_ports(1)
        self.url = f"spark://127.0.0.1:{port}"
        self._port = port
        self.directory = Path(tempfile.mkdtemp(prefix="ottla-spark-"))
        self._nodes: list[subprocess.Popen[bytes]] = []

    def start(self) -> SparkCluster:
        """Start all processes, and wait until the master knows every worker."""
        host = ["--host", "127.0.0.1", "--webui-port", "0"]
        try:
            self._launch("master", "master.Master", *host, "--port", str(self._port))
            self._wait("master", "I have been elected leader", 1)
            for number in range(self._workers):
                work = str(self.directory / f"work-{number}")
                self._launch(
                    f"worker-{number}",
                    "worker.Worker",
                    *host,
                    *("--cores", str(self._cores), "--memory", "1g", "--work-dir", work),
                    self.url,
                )
            self._wait("master", "Registering worker", self._workers)
        except BaseException:
            self.stop()
            raise
        return self

    def executors(self) -> list[int]:
        """Return the process ids of the running executors."""
        ours = {node.pid for node in self._nodes}
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                command = (path / "cmdline").read_bytes()
                parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue  # the process has just ended
            if _EXECUTOR.encode() in command and parent in ours:
                found.append(int(path.name))
        return sorted(found)

    def stop(self) -> None:
        """End all processes; terminated workers end their executors."""
        executors = self.executors()
        for node in reversed(self._nodes):
            node.terminate()
        for node in self._nodes:
            try:
                node.wait(20)
            except subprocess.TimeoutExpired:
                node.kill()
                node.wait()
        for pid in executors:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        shutil.rmtree(self.directory, ignore_errors=True)

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a driver of this cluster."""
        return {
            **os.environ,
            "SPARK_HOME": spark_home(),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }

    def _launch(self, name: str, main: str, *arguments: str) -> None:
        spark_class = str(Path(spark_home()) / "bin" / "spark-class")
        with (self.directory / f"{name}.log").open("wb") as log:
            node = subprocess.Popen(
                [
                    *(self._exec_prefix if name != "master" else ()),
                    spark_class,
                    f"org.apache.spark.deploy.{main}",
                    *arguments,
                ],
                env=self.environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
            )
        self._nodes.append(node)

    def _wait(self, name: str, message: str, times: int) -> None:
        deadline = time.monotonic() + self._start_timeout
        log = self.directory / f"{name}.log"
        while log.read_text(errors="replace").count(message) < times:
            if any(node.poll() is not None for node in self._nodes):
                raise RuntimeError(f"Spark's {name} ended; its log:\n{log.read_text()[-4000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no {message!r} in time; the log:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)

    def __enter__(self) -> SparkCluster:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
