"""Network namespaces: hosts of their own inside this one, with cables and name service.

    with Namespaces() as spaces:
        client = spaces.add("client")
        client.run(["ip", "link"])

Everything made here is named after the process that made it, and goes with it at the latest when
the next one starts.
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

_HOSTS = Path("/etc/netns")  # `ip netns exec` lays what is in here over /etc
_PREFIX = "ottla"


def sh(*words: str, stdin: str = "") -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run(
        words, input=stdin, capture_output=True, text=True, timeout=30, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


@dataclass(frozen=True)
class Namespace:
    """A host with its own interfaces, routes, filters and names."""

    name: str

    @property
    def enter(self) -> tuple[str, ...]:
        """The command that runs another one in here."""
        return ("ip", "netns", "exec", self.name)

    def ip(self, words: str) -> None:
        """An `ip` command in here, as one text."""
        sh("ip", "-n", self.name, *words.split())

    def run(self, words: Sequence[str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a program in here to its end, whatever that is."""
        return subprocess.run(
            [*self.enter, *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=REPOSITORY,
        )

    def name_service(self, names: Mapping[str, str]) -> None:
        """Which names resolve in here, to which address; all others fail at once."""
        directory = _HOSTS / self.name
        directory.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"{where} {name}" for name, where in names.items())]
        (directory / "hosts").write_text("\n".join(lines) + "\n")
        # Nothing listens there, and the loopback says so without a wait.
        (directory / "resolv.conf").write_text("nameserver 127.0.0.1\noptions attempts:1\n")


class Namespaces:
    """The namespaces of this process."""

    def __init__(self) -> None:
        if shutil.which("ip") is None or shutil.which("nft") is None or os.geteuid() != 0:
            raise MissingPrerequisiteError(
                "network tests make network namespaces: run them on Linux as root, with iproute2 "
                "and nftables (`tools/network.sh`), or leave them out with -m 'not network'"
            )
        self._made: list[Namespace] = []
        _remove_abandoned()

    def add(self, name: str) -> Namespace:
        """A new host without any cable."""
        space = Namespace(f"{_PREFIX}-{os.getpid()}-{name}")
        sh("ip", "netns", "add", space.name)
        self._made.append(space)
        space.ip("link set lo up")
        return space

    def close(self) -> None:
        """Remove all namespaces, with the interfaces that are in them."""
        while self._made:
            _remove(self._made.pop().name)

    def __enter__(self) -> Namespaces:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def plug(
    space: Namespace | None, interface: str, address: str, hub: Namespace, bridge: str
) -> None:
    """Lay a cable from a host (None is this one) to a bridge in the namespace `hub`."""
    plugged = f"{bridge[:3]}-{interface[-10:]}"
    sh("ip", "-n", hub.name, "link", "add", plugged, "type", "veth", "peer", "name", interface)
    hub.ip(f"link set {interface} netns {space.name if space else os.getpid()}")
    hub.ip(f"link set {plugged} master {bridge} up")
    inside = ["ip", *(("-n", space.name) if space else ())]
    sh(*inside, "addr", "add", address, "dev", interface)
    sh(*inside, "link", "set", interface, "up")


def _remove_abandoned() -> None:
    for line in sh("ip", "netns", "list").splitlines():
        found = re.match(rf"{_PREFIX}-(\d+)-", line)
        if found and not Path("/proc", found[1]).exists():
            _remove(line.split()[0])


def _remove(name: str) -> None:
    # Two that clean up at the same time may both try.
    with contextlib.suppress(RuntimeError):
        sh("ip", "netns", "del", name)
    shutil.rmtree(_HOSTS / name, ignore_errors=True)
