"""The broker and the schema registry of a run: one fresh Kafka broker, and ottla's mock registry.

The suites of other clients expect a broker as their own tooling configures it: topics are created
by sending to them, an authorizer permits all, listeners have SASL, and groups have the defaults of
Kafka. All that differs from the brokers of ottla's tests is here.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from ottla.testing import MockRegistry
from tests.peer_suites.suite import Broker
from tests.support.jars import MissingPrerequisiteError
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

USER = PASSWORD = "sasl_user"
_LOGIN = "org.apache.kafka.common.security"

_CONFIG = {
    "auto.create.topics.enable": "true",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    # Tests let sessions of members expire.
    "group.min.session.timeout.ms": "1000",
    # Records have timestamps of past years.
    "log.retention.ms": "-1",
    # There is one broker.
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
# Tests describe groups, and expect Kafka's defaults.
_DEFAULTS_OF_KAFKA = ("group.consumer.", "group.share.", "group.streams.")


@contextlib.contextmanager
def running(broker: Broker | None) -> Iterator[Mapping[str, str]]:
    """Run a broker and a registry; yield their addresses, by the names of `Suite.environment`."""
    if broker is None:
        yield {}
        return
    with ExitStack() as stack:
        cluster = _PeerKafka(broker)
        registry = stack.enter_context(MockRegistry())
        stack.enter_context(cluster)
        yield {
            "bootstrap": cluster.bootstrap,
            "plain": f"127.0.0.1:{cluster.ports['PLAIN']}",
            "oauthbearer": f"127.0.0.1:{cluster.ports['OAUTHBEARER']}",
            "registry": registry.url,
        }


class _PeerKafka(KafkaCluster):
    """One broker with a listener for each mechanism of SASL, and one at a fixed port if wanted."""

    def __init__(self, broker: Broker) -> None:
        plain, oauthbearer = free_ports(2)
        self.ports = {"PLAIN": plain, "OAUTHBEARER": oauthbearer}
        self._fixed_port = broker.fixed_port
        if broker.fixed_port is not None:
            _check_free(broker.fixed_port)
        super().__init__(1, config=self._properties)
        [node] = self.nodes.values()
        for key in [key for key in node.properties if key.startswith(_DEFAULTS_OF_KAFKA)]:
            del node.properties[key]
        node.properties |= {**_CONFIG, **broker.config}

    def _properties(self, node: KafkaNode) -> dict[str, str]:
        at = {name: f"127.0.0.1:{port}" for name, port in self.ports.items()}
        if self._fixed_port is not None:
            at["FIXED"] = f"localhost:{self._fixed_port}"
        added = [f"{name}://{address}" for name, address in at.items()]
        protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,FIXED:PLAINTEXT"
        bearer = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required"
        return {
            "listeners": ",".join([node.properties["listeners"], *added]),
            "advertised.listeners": ",".join([node.properties["advertised.listeners"], *added]),
            "listener.security.protocol.map": (
                f"{protocols},PLAIN:SASL_PLAINTEXT,OAUTHBEARER:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.plain.plain.sasl.jaas.config": (
                f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            ),
            # Tokens without a signature, and sessions that end in test time.
            "listener.name.oauthbearer.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.oauthbearer.oauthbearer.sasl.jaas.config": (
                f'{bearer} unsecuredLoginStringClaim_sub="admin"'
                ' unsecuredValidatorRequiredScope="requiredScope";'
            ),
            "listener.name.oauthbearer.oauthbearer.connections.max.reauth.ms": "5000",
        }


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise MissingPrerequisiteError(
                f"port {port} of localhost is in use, and this suite's files name it"
            ) from error
