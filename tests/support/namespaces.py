"""Network namespaces: virtual hosts with their own interfaces and name resolution.

    with Namespaces() as spaces:
        client = spaces.add("client")
        client.run(["ip", "link"])

All namespaces are named after the process that created them. If it does not remove them, the next
process does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.support.jars import REPOSITORY, MissingPrerequisiteError

_HOSTS = Path("/etc/netns")  # `ip netns exec` mounts these files over /etc
_PREFIX = "ottla"


def run_command(*command: str, stdin: str = "") -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}"
        )
    return done.stdout


@dataclass(frozen=True)
class Namespace:
    """A virtual host with its own interfaces, routes, filters and names."""

    name: str

    @property
    def exec_prefix(self) -> tuple[str, ...]:
        """The command prefix that runs a program in this namespace."""
        return ("ip", "netns", "exec", self.name)

    def ip(self, arguments: str) -> None:
        """Run an `ip` command in this namespace."""
        run_command("ip", "-n", self.name, *arguments.split())

    def run(self, command: Sequence[str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a program in this namespace; return its result, whatever the exit code."""
        return subprocess.run(
            [*self.exec_prefix, *command],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=REPOSITORY,
        )

    def name_service(self, names: Mapping[str, str | Sequence[str]]) -> None:
        """Set the names that resolve here, with their addresses; all others fail at once."""
        directory = _HOSTS / self.name
        directory.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost"]
        for name, known in names.items():
            lines += [f"{at} {name}" for at in ([known] if isinstance(known, str) else known)]
        (directory / "hosts").write_text("\n".join(lines) + "\n")
        # No name server listens on loopback, which refuses queries without a wait.
        (directory / "resolv.conf").write_text("nameserver 127.0.0.1\noptions attempts:1\n")


class Namespaces:
    """The namespaces of this process; nftables is needed for packet filters only."""

    def __init__(self, *, filters: bool = True) -> None:
        needed = ("ip", "nft") if filters else ("ip",)
        if not all(map(shutil.which, needed)) or os.geteuid() != 0:
            raise MissingPrerequisiteError(
                "network tests create network namespaces: run them on Linux as root, with iproute2 "
                "and nftables (`tools/network.sh`), or deselect them with -m 'not network'"
            )
        self._created: list[Namespace] = []
        _remove_abandoned()

    def add(self, name: str) -> Namespace:
        """Create a host with a loopback interface only."""
        space = Namespace(f"{_PREFIX}-{os.getpid()}-{name}")
        run_command("ip", "netns", "add", space.name)
        self._created.append(space)
        space.ip("link set lo up")
        return space

    def close(self) -> None:
        """Remove all namespaces and their interfaces."""
        while self._created:
            _remove(self._created.pop().name)

    def __enter__(self) -> Namespaces:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect_veth(
    space: Namespace | None, interface: str, address: str, hub: Namespace, bridge: str
) -> None:
    """Connect a host (None: this one) to a bridge in the namespace `hub` by a veth pair."""
    plugged = f"{bridge[:3]}-{interface[-10:]}"
    run_command(
        "ip", "-n", hub.name, "link", "add", plugged, "type", "veth", "peer", "name", interface
    )
    hub.ip(f"link set {interface} netns {space.name if space else os.getpid()}")
    hub.ip(f"link set {plugged} master {bridge} up")
    inside = ["ip", *(("-n", space.name) if space else ())]
    run_command(*inside, "addr", "add", address, "dev", interface)
    run_command(*inside, "link", "set", interface, "up")


def _remove_abandoned() -> None:
    for line in run_command("ip", "netns", "list").splitlines():
        found = re.match(rf"{_PREFIX}-(\d+)-", line)
        if found and not Path("/proc", found[1]).exists():
            _remove(line.split()[0])


def _remove(name: str) -> None:
    # Another process may remove it at the same time.
    with contextlib.suppress(RuntimeError):
        run_command("ip", "netns", "del", name)
    shutil.rmtree(_HOSTS / name, ignore_errors=True)
