"""`ottla gateway` in a process of its own, on ports that it keeps when it is started again.

    with gateway_process(kafka.bootstrap) as gateway:
        gateway.kill()
        gateway.start()

Invariant: no gateway outlives its `with` block, and what it wrote to standard error is kept.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.support.jars import REPOSITORY
from tests.support.ports import free_ports_in_a_row

_BROKERS = 3
_HOST = "127.0.0.1"
_START = 30.0


class GatewayProcess:
    """The command `ottla gateway`, which keeps its addresses when it starts again."""

    def __init__(
        self,
        arguments: Sequence[str],
        bootstrap: str,
        brokers: Mapping[int, str],
        exec_prefix: Sequence[str] = (),
    ) -> None:
        """Prepare the command; `start` or a `with` block starts it.

        Args:
            arguments: those of the command.
            bootstrap: the address that it must print for bootstrapping.
            brokers: the addresses that it has for brokers, by id.
            exec_prefix: a command prefix that runs it on another host.
        """
        self.bootstrap, self.brokers = bootstrap, dict(brokers)
        self._command = [*exec_prefix, sys.executable, "-m", "ottla", "gateway", *arguments]
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
        timer = threading.Timer(_START, self._process.kill)
        timer.start()
        try:
            first = self._process.stdout.readline()
        finally:
            timer.cancel()
        # The brokers that are up now follow in the same write.
        assert first == f"ottla gateway: {self.bootstrap}\n", (first, self.errors)

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
            self._errors.close()
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


def gateway_process(servers: str, *arguments: str) -> GatewayProcess:
    """Return a gateway on loopback, in front of three brokers with the ids 1 to 3.

    Args:
        servers: the addresses of the cluster.
        arguments: more options of the command.
    """
    port = free_ports_in_a_row(1 + _BROKERS)
    ports = ("--ports", f"{port + 1}-{port + _BROKERS}", "--first-broker", "1")
    bootstrap = f"{_HOST}:{port}"
    brokers = {n: f"{_HOST}:{port + n}" for n in range(1, _BROKERS + 1)}
    return GatewayProcess([servers, "--listen", bootstrap, *ports, *arguments], bootstrap, brokers)
