"""The doctor with ``bootstrap.controllers`` where none responds; tests/cluster has the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.command import ottla_here
from tests.support.ports import free_ports

KEY = "bootstrap.controllers"


def test_a_brokers_address_is_told_with_the_remedy(mock_cluster: MockCluster) -> None:
    steps: list[ottla.doctor.DiagnosisStep] = []
    report = ottla.diagnose({KEY: mock_cluster.bootstrap}, on_step=steps.append)
    assert report.exit_code == 8
    assert {found.code for found in report.findings} == {"broker_port"}
    first = report.findings[0]
    assert "is the port of a broker, not of a KRaft controller" in first.summary
    assert "set bootstrap.servers to its address" in first.fix
    # The rest of the cluster is no subject of a diagnosis of controllers.
    facts = report.facts
    assert (facts.has_controllers, facts.cluster, facts.brokers) == (True, None, ())
    assert "bootstrap controllers (PLAINTEXT)" in str(report)
    assert {step.check for step in steps} >= {"TCP", "ApiVersions"}


def test_nothing_listens_there() -> None:
    [closed] = free_ports(1)
    report = ottla.diagnose(bootstrap_controllers=[f"127.0.0.1:{closed}"])
    [found] = report.findings
    assert (found.code, report.exit_code) == ("tcp_refused", 4)
    assert f"bootstrap controller 127.0.0.1:{closed} refuses connections" in found.summary
    assert "check that the controller is running" in found.fix


def test_the_command(mock_cluster: MockCluster) -> None:
    option = ["--bootstrap-controller", mock_cluster.bootstrap.split(",")[0]]
    done = ottla_here("doctor", *option, "--json")
    assert done.code == 8
    assert json.loads(done.text)["facts"]["has_controllers"] is True
    page = ottla_here("doctor", *option, "--html", "-")
    assert "Does a Kafka controller respond?" in page.text
    topic = ottla_here("doctor", *option, "--topic", "orders")
    assert topic.code == 2
    assert "controllers know no topics and no groups" in topic.err


def test_what_cannot_be_checked() -> None:
    controllers = {KEY: "127.0.0.1:9"}
    with pytest.raises(errors.ConfigError, match="no topics and no groups"):
        ottla.diagnose(controllers, group="billing")
    with pytest.raises(errors.ConfigError, match=r"cannot set both"):
        ottla.diagnose({**controllers, "bootstrap.servers": "127.0.0.1:9"})
    with pytest.raises(errors.ConfigError, match=r"cannot set both"):
        ottla.diagnose("127.0.0.1:9", controllers)
    with (
        ottla.Client(controllers, connect=False) as client,
        pytest.raises(errors.ConfigError, match="give its configuration in its place"),
    ):
        ottla.diagnose(client)


@pytest.mark.parametrize("value", [5, True, {"a:1": 1}, {"a:1"}, [5], b"a:1"])
def test_addresses_of_another_type_are_an_error(value: Any) -> None:
    with pytest.raises(errors.ConfigError, match=r"^bootstrap[._]controllers"):
        ottla.diagnose(config={KEY: value})
    with pytest.raises(errors.ConfigError, match=r"^bootstrap[._]controllers"):
        ottla.diagnose(bootstrap_controllers=value)


@pytest.mark.parametrize("config", [5, "a:1", ["a:1"]])
def test_a_configuration_of_another_type_is_an_error(config: Any) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="config is of type"):
        ottla.diagnose(config=config)
