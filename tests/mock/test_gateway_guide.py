"""The examples of docs/guides/gateway.md that need neither a second host nor programs of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from ottla.cli import build_parser
from ottla.testing import MockCluster
from tests.support.command import ottla_here
from tests.support.gateway_deployments import Ports
from tests.support.gateway_guide import GUIDE, example, gateway_arguments, words_of
from tests.support.gateway_process import GatewayProcess
from tests.support.ports import free_ports, free_ports_in_a_row
from tests.support.tcp_proxy import tcp_proxy

# The loopback of the pod, to which kubectl connects.
POD = "127.0.0.2"


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """Provide brokers with the ids 1 and 2: three ports from the broker 0 on are enough."""
    with MockCluster(brokers=2) as cluster:
        cluster.create_topic("orders")
        yield cluster


def test_the_commands_in_examples_with_other_programs_have_valid_arguments() -> None:
    blocks = re.findall(r"^```text\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("ottla ")]
    assert len(lines) == 7
    for line in lines:
        build_parser().parse_args(words_of(line)[1:])


def test_the_example_for_kubernetes(cluster: MockCluster) -> None:
    run, forward, list_topics = example("Into Kubernetes")
    ports = Ports(free_ports_in_a_row(4), free_ports(1)[0])
    arguments = [ports.replaced(word) for word in gateway_arguments(run)]
    loopback = ("--listen", f"{POD}:{ports.first}", "--advertise", "127.0.0.1")
    brokers = {n: f"127.0.0.1:{ports.first + 1 + n}" for n in cluster.brokers}
    bootstrap = f"127.0.0.1:{ports.first}"
    gateway = GatewayProcess([cluster.bootstrap, *arguments, *loopback], bootstrap, brokers)
    with gateway, ExitStack() as forwarded:
        assert words_of(forward)[:3] == ["kubectl", "port-forward", f"pod/{words_of(run)[2]}"]
        for pair in words_of(forward)[3:]:
            here, there = (int(port) for port in ports.replaced(pair).split(":"))
            forwarded.enter_context(tcp_proxy([f"{POD}:{there}"], port=here))
        done = ottla_here(*words_of(ports.replaced(list_topics))[1:])
        assert (done.code, b"orders" in done.out) == (0, True), done
        # The whole way, to each broker.
        done = ottla_here("doctor", bootstrap, "--topic", "orders")
        assert done.code == 0, done.out


def test_the_files_to_which_the_guide_leads() -> None:
    files = {path.name for path in (GUIDE.parent / "gateway").iterdir()}
    assert set(re.findall(r"\(gateway/([^)]+)\)", GUIDE.read_text())) == files
