"""`ottla gateway` in a process of its own, on ports that it keeps when it is started again.

    with GatewayProcess(kafka.bootstrap) as gateway:
        gateway.kill()
        gateway.start()

Invariant: no gateway outlives its `with` block, and what it wrote to standard error is kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.support.jars import REPOSITORY
from tests.support.ports import free_ports, free_ports_in_a_row
from tests.support.waiting import TIMEOUT

_BROKERS = 3


class GatewayProcess:
    """The command in front of three brokers with the ids 1 to 3, listening on loopback."""

    def __init__(
        self,
        servers: str,
        *arguments: str,
        host: str = "127.0.0.1",
        ports: Sequence[int] | None = None,
        exec_prefix: Sequence[str] = (),
    ) -> None:
        """Choose the ports; `start` or a `with` block starts the process.

        Args:
            servers: the addresses of the cluster.
            arguments: more options of the command.
            host: the IP address on which it listens.
            ports: the bootstrap port, and the first of the brokers' ports. Default: free ones.
            exec_prefix: a command prefix that runs it on another host.
        """
        port, first = ports or (free_ports(1)[0], free_ports_in_a_row(_BROKERS))
        self.bootstrap = f"{host}:{port}"
        self.brokers = {n: f"{host}:{first + n - 1}" for n in range(1, _BROKERS + 1)}
        self._command = [
            *(*exec_prefix, sys.executable, "-m", "ottla", "gateway", servers),
            *("--listen", self.bootstrap, "--ports", f"{first}-{first + _BROKERS - 1}"),
            *("--first-broker", "1", *arguments),
        ]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by __exit__)
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def errors(self) -> str:
        """What it has written to standard error since its first start."""
        self._errors.seek(0)
        return self._errors.read()

    @property
    def resident(self) -> int:
        """Its resident memory in bytes."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the gateway has ended")

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=REPOSITORY,
        )
        assert self._process.stdout is not None
        # A gateway that never serves is killed, which ends the wait for its line.
        timer = threading.Timer(TIMEOUT, self._process.kill)
        timer.start()
        try:
            lines = [self._process.stdout.readline() for _ in range(1 + _BROKERS)]
        finally:
            timer.cancel()
        assert lines[0].startswith("ottla gateway: "), (lines, self.errors)
        assert [line.split()[-1] for line in lines[1:]] == [*self.brokers.values()], lines

    def kill(self) -> None:
        """Send SIGKILL, as a power failure."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> GatewayProcess:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        if error is not None:
            # pytest shows it with the failure.
            print(self.errors)
        self._errors.close()
