"""Real brokers that only a gateway can reach, since clients have no certificate.

Invariant: a client that was given a broker's own address, or none of the gateway's, fails: the only
listener whose addresses a response of the gateway could leak requires a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.security.certificates import Authority
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.kafka_properties import FAST_FAILOVER
from tests.support.kafka_releases import CURRENT
from tests.support.ports import free_ports

_LISTENER = "GUARDED"
_BROKERS = 3
_SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class GuardedKafka(KafkaCluster):
    """Three brokers: a plain listener for the test itself, and one with mTLS for the gateway."""

    def __init__(
        self, directory: Path, release: str = CURRENT, *, fast_failover: bool = False
    ) -> None:
        """Write the certificates into a directory; `start` the cluster afterwards.

        Args:
            directory: where the certificates are.
            release: the set of jars.
            fast_failover: whether brokers notice within seconds that another one was killed.
        """
        authority = Authority("ottla test authority")
        self._authority = authority.certificate
        self._broker = authority.issue("broker", ["127.0.0.1"])
        self._trusted, self._store = directory / "authority.pem", directory / "gateway.pem"
        gateway = authority.issue("gateway", client=True)
        self._trusted.write_text(authority.certificate)
        self._store.write_text(gateway.key() + gateway.certificate)
        self._guarded_ports = free_ports(_BROKERS)
        self._more = FAST_FAILOVER if fast_failover else {}
        super().__init__(_BROKERS, self._properties, jvm=_SMALL, release=release)

    @property
    def guarded(self) -> str:
        """The addresses of the listener for the gateway, as a value of `bootstrap.servers`."""
        return ",".join(f"127.0.0.1:{port}" for port in self._guarded_ports)

    @property
    def gateway_config(self) -> dict[str, str]:
        """The configuration with which a gateway connects there."""
        return {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(self._trusted),
            "ssl.keystore.location": str(self._store),
        }

    def _properties(self, node: KafkaNode) -> Mapping[str, str]:
        where = f"{_LISTENER}://127.0.0.1:{self._guarded_ports[node.node_id - 1]}"
        listeners: dict[str, str] = {
            key: f"{node.properties[key]},{where}"
            for key in ("listeners", "advertised.listeners")
            if key in node.properties
        }
        prefix = f"listener.name.{_LISTENER.lower()}."
        return {
            **self._more,
            **listeners,
            "listener.security.protocol.map": (
                f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{_LISTENER}:SSL"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            f"{prefix}ssl.client.auth": "required",
            # Kafka 2.8 reads no file with a key that has no password.
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.keystore.certificate.chain": _escaped(self._broker.certificate),
            f"{prefix}ssl.keystore.key": _escaped(self._broker.key()),
            f"{prefix}ssl.truststore.type": "PEM",
            f"{prefix}ssl.truststore.certificates": _escaped(self._authority),
        }


def _escaped(text: str) -> str:
    """Return a value of a properties file with several lines."""
    return text.replace("\n", "\\n")
