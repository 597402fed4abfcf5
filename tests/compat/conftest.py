"""Brokers of older releases, for the tests of tests/cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.cluster.conftest import Brokers
from tests.support import kafka_properties
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_releases import CURRENT, OLDER, OLDEST, selected
from tests.support.ports import free_ports

# These brokers run next to the session's: small heaps, for CI machines.
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

USER, PASSWORD = "alice", "a-password"

# The oldest release differs most from the current one. A release that is selected replaces them.
RELEASES = [
    release if release in (OLDEST, selected()) else pytest.param(release, marks=pytest.mark.deep)
    for release in (OLDER if selected() == CURRENT else [selected()])
]


class OlderKafka(KafkaCluster):
    """Three brokers that check ACLs, by which everyone may do all, and issue delegation tokens.

    Only a client that logs in gets a token, so each has a listener for ``USER``.
    """

    def __init__(self, release: str) -> None:
        self._ports = free_ports(3)
        super().__init__(release=release, jvm=_SMALL, config=self._properties)

    @property
    def sasl_bootstrap(self) -> str:
        """The addresses of the listeners where ``USER`` logs in by PLAIN."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports)

    def _properties(self, node: KafkaNode) -> Mapping[str, str]:
        login = f"SASL://127.0.0.1:{self._ports[node.node_id - 1]}"
        listeners: dict[str, str] = {
            key: f"{node.properties[key]},{login}"
            for key in ("listeners", "advertised.listeners")
            if key in node.properties
        }
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            **listeners,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl.plain.sasl.jaas.config": (
                f'{plain} required user_{USER}="{PASSWORD}";'
            ),
            **kafka_properties.authorizer(self.release),
            "super.users": f"User:ANONYMOUS;User:{USER}",
            # The first is the name before Kafka 3.0.
            "delegation.token.master.key": "a key",
            "delegation.token.secret.key": "a key",
        }


# One cluster for all modules: each start takes twelve seconds. It ends with the package, because a
# worker of pytest-xdist runs other tests afterwards, and idle brokers cost time.
@pytest.fixture(scope="package", params=RELEASES)
def older_kafka(request: pytest.FixtureRequest) -> Iterator[OlderKafka]:
    """Provide three brokers of an older release, with ZooKeeper if the release uses it."""
    cluster = OlderKafka(request.param)
    with cluster:
        yield cluster


@pytest.fixture
def brokers(older_kafka: OlderKafka) -> Brokers:
    """Provide the fixture of tests/cluster, with an older release."""
    return Brokers(older_kafka)
