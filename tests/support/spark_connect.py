"""A Spark Connect server on loopback, in its own process.

Invariant: `stop` ends what `start` started, Python workers included, and leaves no files.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_ports
from tests.support.spark_home import spark_home

_MAIN = "org.apache.spark.sql.connect.service.SparkConnectServer"
_CONFIG = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.sql.shuffle.partitions": "2",
    # Queries are short: the second compiler costs more than it gains.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class SparkConnect:
    """`with SparkConnect() as server: ...`; a client connects to `server.remote`."""

    def __init__(self, config: Mapping[str, str] | None = None, start_timeout: float = 300) -> None:
        self._config = dict(config or {})
        (self._port,) = free_ports(1)
        self.remote = f"sc://127.0.0.1:{self._port}"
        self._start_timeout = start_timeout
        self._directory = Path(tempfile.mkdtemp(prefix="ottla-connect-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> str:
        """The server's output so far."""
        return (self._directory / "log").read_text(errors="replace")

    @property
    def log(self) -> str:
        """The end of the server's output."""
        return self.output[-4000:]

    def start(self) -> SparkConnect:
        """Start the server, and wait until it accepts connections."""
        home = Path(spark_home())
        port = {"spark.connect.grpc.binding.port": str(self._port)}
        config = _CONFIG | port | self._config
        settings = [part for item in config.items() for part in ("--conf", "=".join(item))]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(str(home / "bin" / "spark-submit"), "--class", _MAIN),
                    *("--master", "local[2]", "--driver-memory", "1g", *settings),
                    "spark-internal",
                ],
                env={
                    **os.environ,
                    "SPARK_HOME": str(home),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "PYSPARK_PYTHON": sys.executable,
                    "PYSPARK_DRIVER_PYTHON": sys.executable,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._directory,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server; its Python workers end with it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_timeout
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"no Spark Connect server; its log:\n{self.log}") from None
                time.sleep(0.2)
            else:
                return

    def __enter__(self) -> SparkConnect:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
