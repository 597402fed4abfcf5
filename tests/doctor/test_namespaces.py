"""The doctor on a host with faulty addresses, a network namespace."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest

from tests.doctor.verdicts import BROKER, check_report
from tests.support.golden import Replacements
from tests.support.namespaces import Namespace, Namespaces


@pytest.fixture(scope="module")
def host() -> Iterator[Namespace]:
    """A host with loopback, an address in a private network, and names; without other routes."""
    with Namespaces(filters=False) as spaces:
        host = spaces.add("doctor")
        host.ip("addr add 10.9.9.9/32 dev lo")
        two = ["127.0.0.1", "::1"]
        host.name_service({"kafka.ottla.test": two, "kafka6.ottla.test": "fd00:9::1"})
        yield host


@pytest.mark.network
@pytest.mark.parametrize(
    "name",
    [
        "ipv6_name_without_ipv6",
        "one_of_two_addresses",
        "advertised_without_route",
        "advertised_ports_refuse",
    ],
)
def test_a_host_with_faulty_addresses(host: Namespace, name: str) -> None:
    done = host.run([sys.executable, "-m", "tests.doctor.in_namespace", name])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    shows = Replacements({port: BROKER + i for i, port in enumerate(result["ports"])})
    check_report(f"namespaces/{name}", result["report"], shows)
