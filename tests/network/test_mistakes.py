"""Networks that fail under a client: the warning and its delay, for readers and writers.

The texts are in tests/golden/mistakes/network.txt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.network.conftest import ClientSite
from tests.support.golden import check_golden
from tests.support.kafka_cluster import KafkaCluster
from tests.support.network import Network

pytestmark = [pytest.mark.cluster, pytest.mark.network, pytest.mark.fault]

SiteFactory = Callable[[str], ClientSite]
# The maximum delay of a warning in seconds: five, and a reserve for a busy machine.
REPORTED_WITHIN = 10.0
FAULTS = {
    "packets to a broker are dropped": "blackhole",
    "a firewall refuses connections to a broker": "reject",
    "connections to a broker come up and carry nothing": "mute",
    "the way to a broker loses large packets": "narrow",
}


def test_network_failures_are_reported_in_time(
    site_for: SiteFactory, topic: str, network: Network, networked_kafka: KafkaCluster
) -> None:
    entries = []
    for name, fault in FAULTS.items():
        for how in ("read", "write"):
            if (fault, how) == ("narrow", "read"):
                # An empty log has no large responses.
                continue
            site = site_for("external_names")
            site.agent.run("open", bootstrap=site.bootstrap, config={})
            leaders = site.agent.run("leaders", topic=topic)["leaders"]
            partition = leaders.index(2)
            if how == "write":
                # The network fails under an open connection.
                assert "offset" in site.agent.run("send", topic=topic, partition=partition)
            getattr(network, fault)(network.broker_address(2))
            asked = {"topic": topic, "partition": partition, "about": "kafka2.ottla.test"}
            result = site.agent.run("wait_for_warning", how=how, **asked)
            network.heal()
            assert result.get("warnings"), result
            assert result["seconds"] < REPORTED_WITHIN, result
            text = result["warnings"][0].replace(topic, "orders")
            text = re.sub(r"198\.18\.\d+\.", "198.18.0.", text)
            text = re.sub(r"\bfor \d+ s\b", "for N s", text)
            entries.append(f"{name}, {how}\n  {text}")
    check_golden("mistakes/network", "\n\n".join(entries))
