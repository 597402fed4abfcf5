"""A set-up in a network namespace: a mock cluster, and the doctor beside it.

    python -m tests.doctor.in_namespace SET_UP

It runs in the namespace and prints the report, with the ports of the cluster, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import ottla
from ottla.doctor import Report
from ottla.testing import MockCluster

# A shorter timeout for each of the doctor's steps.
_STEP = {"socket.connection.setup.timeout.ms": 1500}


def ipv6_name_without_ipv6(_: MockCluster) -> Report:
    """Connect by a name that has an IPv6 address only."""
    return ottla.diagnose("kafka6.ottla.test:9092", _STEP)


def one_of_two_addresses(cluster: MockCluster) -> Report:
    """Connect by a name with two addresses, where the cluster listens at one of them."""
    port = cluster.brokers[1].rpartition(":")[2]
    return ottla.diagnose(f"kafka.ottla.test:{port}", topic="orders")


def advertised_without_route(cluster: MockCluster) -> Report:
    """Advertise addresses to which there is no route."""
    addresses = dict(cluster.brokers)
    for broker in addresses:
        cluster.advertise(broker, f"203.0.113.{broker}:9092")
    return ottla.diagnose(addresses[1], _STEP)


def advertised_ports_refuse(cluster: MockCluster) -> Report:
    """Advertise ports of a private address that this host has, where nothing listens."""
    addresses = dict(cluster.brokers)
    for broker in addresses:
        cluster.advertise(broker, f"10.9.9.9:{19000 + broker}")
    return ottla.diagnose(addresses[1], _STEP)


SET_UPS: dict[str, Callable[[MockCluster], Report]] = {
    set_up.__name__: set_up
    for set_up in (
        ipv6_name_without_ipv6,
        one_of_two_addresses,
        advertised_without_route,
        advertised_ports_refuse,
    )
}


def main(name: str) -> dict[str, Any]:
    """Run a set-up; return the report and the brokers' ports."""
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("orders", partitions=3)
        ports = [int(address.rpartition(":")[2]) for address in cluster.brokers.values()]
        return {"ports": ports, "report": SET_UPS[name](cluster).to_dict()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
