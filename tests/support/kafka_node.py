"""One server process: its configuration, log and lifecycle.

Invariant: a node never outlives the process that started it, however that one ends: a watcher in
the node's process group reads a pipe until its end, then kills the broker and removes its data.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.support.jars import java

# $0 is the node's directory, "$@" the broker. After exec, $$ is the broker itself.
_START_SCRIPT = """
exec 3<&0 </dev/null
(cat <&3 >/dev/null; kill -9 $$; rm -rf "$0"; rmdir "$(dirname "$0")" 2>/dev/null) >/dev/null 2>&1 &
exec 3<&-
[ -e "$0/data/meta.properties" ] || {format_storage} || exit
exec "$@"
"""


@dataclass
class KafkaNode:
    """A server process, by default a combined broker and controller."""

    node_id: int
    directory: Path
    port: int
    properties: dict[str, str]
    jvm: list[str] = field(default_factory=list)
    # More options, of the server alone: `jvm` is also for the command that formats its storage.
    server_jvm: Sequence[str] = ()
    host: str = "127.0.0.1"
    # A command prefix that runs the process on another host: `ip netns exec NAME`.
    exec_prefix: Sequence[str] = ()
    main: str = "kafka.Kafka"
    # Formats KRaft's storage before the first start; None for ZooKeeper.
    cluster_id: str | None = None
    # More arguments for that, such as those of a dynamic quorum.
    format_arguments: Sequence[str] = ()
    _process: subprocess.Popen[bytes] | None = None
    _lifeline: IO[bytes] | None = None

    @property
    def address(self) -> str:
        """The address of its listener."""
        return f"{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """The output of all its starts."""
        return self.directory / "broker.log"

    @property
    def pid(self) -> int | None:
        """The broker's process id; None if it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the broker, without waiting; formats its storage before the first start."""
        if self.pid is not None:
            return
        self._reap()
        self.directory.mkdir(parents=True, exist_ok=True)
        config = self.directory / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        format_storage = ["true"]
        if self.cluster_id is not None:
            format_storage = [java(), *self.jvm, "kafka.tools.StorageTool", "format"]
            format_storage += ["--ignore-formatted", "-t", self.cluster_id, "-c", str(config)]
            format_storage += self.format_arguments
        serve = [*self.jvm, *self.server_jvm, self.main, str(config)]
        script = _START_SCRIPT.replace("{format_storage}", shlex.join(format_storage))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.exec_prefix, "/bin/sh", "-c", script, str(self.directory), java(), *serve],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._lifeline = self._process.stdin

    def kill(self) -> None:
        """Send SIGKILL, as a power failure."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap()

    def shut_down(self, timeout: float = 90) -> None:
        """Send SIGTERM and wait: the broker moves its leaderships first."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout)
        self._reap()

    def pause(self) -> None:
        """Send SIGSTOP: the sockets stay open and the broker does not respond."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Undo `pause`."""
        if self.pid is not None:
            os.kill(self.pid, signal.SIGCONT)

    def remove(self) -> None:
        """Kill the broker and delete its files."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_tail(self, lines: int = 30) -> str:
        """Return the end of the log, for an error message."""
        if not self.log.exists():
            return "(no log)"
        text = self.log.read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def _reap(self) -> None:
        if self._process is None:
            return
        self._process.wait()
        # The watcher is in the group, too. It must end before its pipe is closed, or it would
        # remove the data of a broker that will be restarted.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._lifeline is not None:
            self._lifeline.close()
        self._process = self._lifeline = None
