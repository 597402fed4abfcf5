"""The files of docs/guides/gateway, checked by the programs that they are for.

tests/mock/test_gateway_deployments.py runs their commands.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.environments import packages
from tests.support.gateway_deployments import DIRECTORY, MANIFESTS, UNIT, Ports, unit_of
from tests.support.jars import REPOSITORY, MissingPrerequisiteError
from tests.support.ports import accepts, free_ports, free_ports_in_a_row
from tests.support.twin_gateways import BALANCER, HOSTS, twin_gateways
from tests.support.waiting import wait_until

_SCHEMAS = REPOSITORY / "requirements" / "gateway" / "kubernetes.txt"
# The first release of Kubernetes with `sleep` of `preStop`, and a new one.
_KUBERNETES = ("1.30", "1.37")
PARTITIONS = 6


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        raise MissingPrerequisiteError(f"no {name}: run tools/gateway_tools.sh")
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", _KUBERNETES)
@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_has_the_form_that_kubernetes_wants(name: str, version: str) -> None:
    command = [sys.executable, "-m", "kubernetes_validate", "--strict", "-k", version]
    done = subprocess.run(
        [*command, str(DIRECTORY / name)],
        env={**os.environ, "PYTHONPATH": str(packages("gateway", "kubernetes", _SCHEMAS))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(" passed ") == 4


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = _program("systemd-analyze")
    [command] = unit_of()["ExecStart"]
    path = tmp_path / UNIT
    # The program has to be there.
    program = command.split()[0]
    path.write_text((DIRECTORY / UNIT).read_text().replace(program, sys.executable))
    done = subprocess.run([analyze, "verify", str(path)], capture_output=True, text=True)
    # Units of the machine may have faults of their own.
    assert UNIT not in done.stdout + done.stderr
    assert done.returncode == 0, done
    security = [analyze, "security", "--offline=true", "--threshold=20", str(path)]
    done = subprocess.run(security, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(120)
def test_haproxy_in_front_of_two_gateways(tmp_path: Path) -> None:
    haproxy = _program("haproxy")
    ports = Ports(free_ports_in_a_row(5), free_ports(1)[0])
    text = ports.replaced((DIRECTORY / "haproxy.cfg").read_text())
    for number, host in enumerate(HOSTS, 1):
        text = text.replace(f"gateway{number}.example.com", host)
    # The gateways have the other addresses of loopback.
    text = text.replace("bind :", f"bind {BALANCER}:")
    path = tmp_path / "haproxy.cfg"
    path.write_text(text)
    with (
        MockCluster(brokers=2) as cluster,
        twin_gateways(cluster.bootstrap, ports.first, ports.status, 2) as gateways,
        subprocess.Popen([haproxy, "-db", "-f", str(path)]) as process,
    ):
        try:
            cluster.create_topic("t", partitions=PARTITIONS)
            bootstrap = gateways[0].bootstrap
            wait_until(lambda: process.poll() is not None or accepts(bootstrap))
            assert process.poll() is None
            report = ottla.diagnose(bootstrap, topic="t")
            assert report.ok, str(report)
            with ottla.Producer(bootstrap) as producer:
                for dead in gateways:
                    _send_to_each(producer)
                    dead.kill()
                    _send_to_each(producer)
                    dead.start()
            ends = [cluster.end_offset("t", n) for n in range(PARTITIONS)]
            assert ends == [4] * PARTITIONS
        finally:
            process.terminate()


def _send_to_each(producer: ottla.Producer) -> None:
    for n in range(PARTITIONS):
        producer.send("t", value=b"%d" % n, partition=n).result(timeout=60)
