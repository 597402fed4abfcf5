"""The files of docs/guides/gateway: their commands run on the mock, and fit what is around them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import ottla
from ottla.cli import build_parser
from ottla.testing import Fault, MockCluster
from tests.security.certificates import Authority
from tests.support.console import TIMEOUT
from tests.support.gateway_deployments import (
    DIRECTORY,
    MANIFESTS,
    Manifest,
    Ports,
    arguments_of_the_unit,
    unit_of,
)
from tests.support.jars import REPOSITORY
from tests.support.loopback_proxy import loopback_proxy
from tests.support.ports import free_ports, free_ports_in_a_row
from tests.support.restricted_container import restricted
from tests.support.waiting import wait_until

PLAIN, SNI = MANIFESTS
# What a container has: no HOME, and nothing of this process.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(REPOSITORY / "python"),
    "PYTHONDONTWRITEBYTECODE": "1",
}
# The files are for brokers from 0 on; the mock's are 1 and 2.
BROKERS = {1, 2}
MOCK = len(BROKERS)


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=MOCK) as cluster:
        cluster.create_topic("t", partitions=MOCK)
        yield cluster


@pytest.fixture
def ports() -> Ports:
    return Ports(free_ports_in_a_row(4), free_ports(1)[0])


@pytest.fixture
def files(tmp_path: Path, cluster: MockCluster) -> dict[str, Path]:
    """The files of the container, by the paths that they have there."""
    authority = Authority("gateway authority")
    server = authority.issue("gateway", ["kafka.example.com", "*.kafka.example.com"])
    texts = {
        "/etc/ottla/client.properties": f"bootstrap.servers={cluster.bootstrap}\n",
        "/etc/ottla-tls/tls.crt": server.certificate,
        "/etc/ottla-tls/tls.key": server.key(),
        "ca": authority.certificate,
    }
    found = {}
    for number, (name, text) in enumerate(texts.items()):
        found[name] = tmp_path / f"{number}"
        found[name].write_text(text)
    return found


def placed(words: Sequence[str], ports: Ports, files: Mapping[str, Path]) -> list[str]:
    """Return the words of a command for this test."""
    found = []
    for word in words:
        here = ports.replaced(word).replace("gateway.example.com", "127.0.0.1")
        for name, path in files.items():
            here = re.sub(rf"(?<![\w/]){re.escape(name)}$", str(path), here)
        found.append(here)
    return found


@contextmanager
def running(
    words: Sequence[str], status: int, prefix: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Run the command, and wait until the status responds, as a probe does."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-m", "ottla", *words],
        env=ENVIRONMENT,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_until(lambda: process.poll() is not None or addresses(status).keys() == BROKERS)
            assert process.poll() is None, process.communicate()[1]
            yield process
        finally:
            process.kill()


def get(status: int, path: str) -> str:
    """Return what the status has at a path; nothing if it does not listen.

    Kubernetes' probes and Prometheus ask by the pod's address.
    """
    where = f"http://127.0.0.1:{status}{path}"
    request = urllib.request.Request(where, headers={"Host": f"10.1.2.3:{status}"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as found:
            return str(found.read().decode())
    except urllib.error.HTTPError:
        raise
    except urllib.error.URLError:
        return ""


def addresses(status: int) -> dict[int, str]:
    found = json.loads(get(status, "/brokers") or '{"brokers": []}')
    return {each["id"]: each["address"] for each in found["brokers"]}


def check_draining(
    process: subprocess.Popen[str],
    bootstrap: str,
    config: Mapping[str, str],
    cluster: MockCluster,
) -> int:
    """Send SIGTERM while a response is on its way; return the exit code."""
    with ottla.Producer(bootstrap, dict(config)) as producer:
        for partition in range(MOCK):
            producer.send("t", value=b"1", partition=partition).result(timeout=TIMEOUT)
        fault = cluster.inject(Fault.delay(0.5), api="Produce", times=1)
        late = producer.send("t", value=b"2", partition=0)
        wait_until(lambda: cluster.fault_hits(fault) == 1)
        process.send_signal(signal.SIGTERM)
        # No gateway is left to which it could be sent again.
        late.result(timeout=TIMEOUT)
    _, errors = process.communicate(timeout=TIMEOUT)
    log: list[str] = []
    others: list[str] = []
    for line in errors.splitlines():
        (log if line.startswith("{") else others).append(line)
    assert others == []
    assert sum(json.loads(line)["responses"].get("Produce", 0) for line in log) == MOCK + 1
    return process.returncode


@pytest.mark.parametrize("name", MANIFESTS)
@pytest.mark.parametrize(
    "in_container",
    [pytest.param(False, id="process"), pytest.param(True, marks=pytest.mark.deep, id="container")],
)
def test_the_container_of_a_manifest(
    cluster: MockCluster, ports: Ports, files: dict[str, Path], name: str, in_container: bool
) -> None:
    manifest = Manifest(name)
    user = manifest.pod["spec"]["securityContext"]["runAsUser"]
    # Nothing is writable.
    prefix = restricted(user=user) if in_container else []
    with running(placed(manifest.container["args"], ports, files), ports.status, prefix) as process:
        for probe in ("readinessProbe", "livenessProbe"):
            where = manifest.container[probe]["httpGet"]
            assert ports.replaced(str(manifest.ports[where["port"]])) == str(ports.status)
            assert get(ports.status, where["path"])
        annotations = manifest.pod["metadata"]["annotations"]
        assert ports.replaced(annotations["prometheus.io/port"]) == str(ports.status)
        assert "# TYPE" in get(ports.status, annotations["prometheus.io/path"])
        if name == SNI:
            expected = {n: f"{n}.kafka.example.com:{ports.first}" for n in BROKERS}
        else:
            expected = {n: f"127.0.0.1:{ports.first + 1 + n}" for n in BROKERS}
        assert addresses(ports.status) == expected
        with loopback_proxy() as proxy:
            tls = {
                "security.protocol": "SSL",
                "ssl.truststore.location": str(files["ca"]),
                "proxy.url": proxy,
            }
            host, config = ("kafka.example.com", tls) if name == SNI else ("127.0.0.1", {})
            # Also of TLS and its names; the certificates of tests are valid for days.
            report = ottla.diagnose(f"{host}:{ports.first}", config, topic="t")
            found = {f.code for f in report.findings if f.severity != "note"}
            assert {code for code in found if not code.startswith("slow_")} <= {"expires_soon"}
            assert "gateway" in {f.code for f in report.findings}
            code = check_draining(process, f"{host}:{ports.first}", config, cluster)
    assert code == 128 + signal.SIGTERM


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_objects_of_a_manifest_fit_together(name: str) -> None:
    manifest = Manifest(name)
    parsed = build_parser().parse_args(manifest.container["args"])
    host, port = parsed.listen
    bound = {manifest.ports["status"]: "status", port: "bootstrap"}
    assert parsed.status == (host, manifest.ports["status"])
    if parsed.ports is not None:
        first, last = parsed.ports
        bound |= {n: f"broker-{n - first}" for n in range(first, last + 1)}
    else:
        bound[port] = "kafka"
    assert {n: each for each, n in manifest.ports.items()} == bound
    # Each port of the Service leads to the same port of a pod; the status has none.
    served = manifest.objects["Service"]["spec"]["ports"]
    assert {each["port"]: each["targetPort"] for each in served} == {
        n: each for n, each in bound.items() if each != "status"
    }
    labels = manifest.pod["metadata"]["labels"]
    assert manifest.objects["Service"]["spec"]["selector"] == labels
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert manifest.objects[kind]["spec"]["selector"]["matchLabels"] == labels
    hook = manifest.container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert manifest.pod["spec"]["terminationGracePeriodSeconds"] >= hook + parsed.drain + 5
    # The files that the command names are mounted.
    keys = manifest.objects["ConfigMap"]["data"]
    assert Path(parsed.config).name in keys
    named = manifest.mounted(str(parsed.config))["configMap"]["name"]
    assert named == manifest.objects["ConfigMap"]["metadata"]["name"]
    for path in filter(None, (parsed.tls_cert, parsed.tls_key)):
        assert "secret" in manifest.mounted(str(path))


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_container_has_no_rights(name: str) -> None:
    manifest = Manifest(name)
    pod, container = manifest.pod["spec"]["securityContext"], manifest.container["securityContext"]
    assert pod["runAsNonRoot"]
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert manifest.pod["spec"]["automountServiceAccountToken"] is False
    image = (DIRECTORY / "Dockerfile").read_text()
    assert f"USER {pod['runAsUser']}" in image.splitlines()
    assert 'ENTRYPOINT ["ottla"]' in image.splitlines()


def test_the_manifests_differ_only_in_what_the_guide_says() -> None:
    """A correction of one is needed in the other one, too."""
    plain, sni = (Manifest(name) for name in MANIFESTS)
    for each in (plain, sni):
        for key in ("args", "ports", "volumeMounts"):
            del each.container[key]
        each.pod["spec"]["volumes"] = each.pod["spec"]["volumes"][:1]
        each.pod["spec"]["securityContext"].pop("fsGroup", None)
        del each.objects["Service"]["spec"]["ports"]
    assert plain.objects == sni.objects


def test_the_command_of_the_unit(
    cluster: MockCluster, ports: Ports, files: dict[str, Path], tmp_path: Path
) -> None:
    unit = unit_of()
    name, _, source = unit["LoadCredential"][0].partition(":")
    (tmp_path / name).symlink_to(files[source])
    # What systemd replaces.
    directory = ("${CREDENTIALS_DIRECTORY}", str(tmp_path))
    words = [word.replace(*directory) for word in arguments_of_the_unit()]
    parsed = build_parser().parse_args(words)
    assert int(unit["TimeoutStopSec"][0]) >= parsed.drain + 5
    with running(placed(words, ports, files), ports.status) as process:
        code = check_draining(process, f"127.0.0.1:{ports.first}", {}, cluster)
    assert unit["SuccessExitStatus"] == [str(code)]
