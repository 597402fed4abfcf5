"""The guide's ways through SSH, with a real sshd on loopback as the host in between."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ottla.testing import MockCluster
from tests.support.gateway_deployments import Ports
from tests.support.gateway_guide import example, gateway_arguments
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.jars import MissingPrerequisiteError
from tests.support.ports import accepts, free_ports, free_ports_in_a_row
from tests.support.waiting import wait_until

BASTION = "bastion.example.com"
# The loopback of the host in between, where the same ports are free.
ITS_LOOPBACK = "127.0.0.2"


@dataclass(frozen=True)
class Shell:
    """A shell with `ottla`, and with an `ssh` that finds the host in between.

    Attributes:
        directory: where it looks for commands first.
    """

    directory: Path

    @property
    def env(self) -> dict[str, str]:
        """Its environment."""
        return {**os.environ, "PATH": f"{self.directory}:{os.environ['PATH']}"}

    def run(self, line: str) -> str:
        """Run a line that must succeed; return its output."""
        done = subprocess.run(
            ["bash", "-c", line], env=self.env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done
        return done.stdout

    @contextmanager
    def background(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """Run a line that ends with `&`, without it."""
        command = ["bash", "-c", f"exec {line.removesuffix('&')}"]
        with subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.terminate()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Provide a shell, and the host in between."""
    directory = tmp_path_factory.mktemp("ssh")
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if sshd is None or shutil.which("ssh") is None:
        raise MissingPrerequisiteError("no sshd: run tools/gateway_tools.sh")
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
        subprocess.run(key, check=True)
    # Where sshd gives up its rights; systems make it when they start.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    [port] = free_ports(1)
    server = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": directory / "host",
        "AuthorizedKeysFile": directory / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
    }
    client = {
        "HostName": "127.0.0.1",
        "Port": port,
        "IdentityFile": directory / "user",
        "IdentitiesOnly": "yes",
        "StrictHostKeyChecking": "no",
        "UserKnownHostsFile": "/dev/null",
        "ExitOnForwardFailure": "yes",
        "LogLevel": "ERROR",
    }
    (directory / "sshd_config").write_text("".join(f"{k} {v}\n" for k, v in server.items()))
    lines = "".join(f"  {k} {v}\n" for k, v in client.items())
    (directory / "config").write_text(f"Host {BASTION}\n{lines}")
    for name, command in {
        "ssh": f"{shutil.which('ssh')} -F {directory / 'config'}",
        "ottla": f"{sys.executable} -m ottla",
    }.items():
        (directory / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (directory / name).chmod(0o755)
    with subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(directory / "sshd_config")], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: process.poll() is not None or accepts(f"127.0.0.1:{port}"))
            assert process.poll() is None, process.communicate()[1]
            yield Shell(directory)
        finally:
            process.terminate()


def _here(line: str) -> str:
    return line.replace("user@", f"{getpass.getuser()}@")


@pytest.mark.timeout(120)
def test_a_gateway_on_the_laptop_that_uses_sshs_proxy(
    shell: Shell, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("orders")
    ssh, gateway, list_topics = example("Through SSH")
    [proxy] = free_ports(1)
    through = _here(ssh).replace("1080", str(proxy))
    options = [word.replace("1080", str(proxy)) for word in gateway_arguments(gateway)]
    with shell.background(through) as tunnel:
        wait_until(lambda: tunnel.poll() is not None or accepts(f"127.0.0.1:{proxy}"))
        assert tunnel.poll() is None, tunnel.communicate()[1]
        with gateway_process(mock_cluster.bootstrap, *options) as process:
            line = list_topics.replace("127.0.0.1:19092", process.bootstrap)
            assert "orders" in shell.run(line)
            shell.run(f"ottla doctor {process.bootstrap} --topic orders")


@pytest.mark.timeout(120)
def test_a_gateway_on_the_host_in_between_and_tunnels_with_the_same_ports(shell: Shell) -> None:
    gateway, ssh, list_topics = example("Through SSH", 1)
    ports = Ports(free_ports_in_a_row(4), free_ports(1)[0])
    with MockCluster(brokers=2) as cluster:
        cluster.create_topic("orders")
        listen = ("--listen", f"{ITS_LOOPBACK}:{ports.first}", "--advertise", "127.0.0.1")
        arguments = [ports.replaced(word) for word in gateway_arguments(gateway)]
        brokers = {n: f"127.0.0.1:{ports.first + 1 + n}" for n in cluster.brokers}
        bootstrap = f"127.0.0.1:{ports.first}"
        # The destination of a tunnel is an address of the host in between.
        tunnels = ports.replaced(_here(ssh)).replace(":127.0.0.1:", f":{ITS_LOOPBACK}:")
        process = GatewayProcess([cluster.bootstrap, *arguments, *listen], bootstrap, brokers)
        with process, shell.background(tunnels) as tunnel:
            wait_until(lambda: tunnel.poll() is not None or accepts(bootstrap))
            assert tunnel.poll() is None, tunnel.communicate()[1]
            assert "orders" in shell.run(ports.replaced(list_topics))
            shell.run(f"ottla doctor {bootstrap} --topic orders")
