"""The doctor on addresses that a host cannot use: no IPv6, and a proxy without the brokers' ports.

The hosts are namespaces with a mock cluster; the findings are in tests/golden/doctor/network.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.golden import Replacements, check_golden, render_golden
from tests.support.namespaces import Namespace, Namespaces

pytestmark = pytest.mark.network

_DIAGNOSE = """
import json, sys
import ottla
from ottla.testing import MockCluster

with MockCluster(brokers=2) as cluster:
    first = cluster.brokers[1]
    cluster.advertise(2, sys.argv[1])
    report = ottla.diagnose(first, timeout=12)
print(json.dumps([report.to_dict(), first]))
"""


@pytest.fixture
def host() -> Iterator[Namespace]:
    """A host with its loopback interface only, and a private address on it."""
    with Namespaces() as spaces:
        space = spaces.add("alone")
        space.ip("addr add 10.9.8.7/32 dev lo")
        space.name_service({"kafka2.ottla.test": "2001:db8::2"})
        yield space


def diagnose(host: Namespace, advertised: str) -> tuple[dict[str, Any], Replacements]:
    """Diagnose a cluster whose broker 2 advertises an address."""
    done = host.run([sys.executable, "-c", _DIAGNOSE, advertised])
    assert done.returncode == 0, done.stderr
    report, first = json.loads(done.stdout)
    return report, Replacements({int(first.rpartition(":")[2]): 9092})


def check(host: Namespace, advertised: str, code: str, name: str) -> dict[str, Any]:
    report, replacements = diagnose(host, advertised)
    [finding] = [each for each in report["findings"] if each["severity"] == "error"]
    assert (finding["code"], finding["certainty"]) == (code, "certain"), report["findings"]
    assert finding["brokers"] == [2]
    check_golden(f"doctor/network/{name}", render_golden(report, replacements))
    return dict(finding)


def test_a_host_without_ipv6(host: Namespace) -> None:
    """True cause: the name of broker 2 has an IPv6 address only, and this host has no IPv6."""
    finding = check(host, "kafka2.ottla.test:9092", "no_ipv6", "no_ipv6")
    assert "kafka2.ottla.test" in finding["summary"]


def test_a_proxy_that_does_not_forward_the_brokers_ports(host: Namespace) -> None:
    """True cause: nothing listens at the advertised port of a private address that is reachable."""
    finding = check(host, "10.9.8.7:19092", "advertised_refused", "proxy_without_broker_ports")
    assert "private" not in finding["summary"]
