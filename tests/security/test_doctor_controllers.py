"""The doctor at KRaft controllers whose listener requires SASL: on Kafka's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ottla
from ottla.admin import Acl
from ottla.doctor import Report
from tests.cluster.conftest import controllers_of
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

_JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="admin" password="admin-secret" user_admin="admin-secret" user_ann="ann-secret";'
)
PROPERTIES = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": _JAAS,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(1, PROPERTIES) as kafka:
        yield kafka


def diagnosed(kafka: KafkaCluster, user: str, password: str, **more: str) -> Report:
    """Diagnose the controllers as a user."""
    config = {
        "bootstrap.controllers": controllers_of(kafka),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }
    return ottla.diagnose({**config, **{name.replace("_", "."): v for name, v in more.items()}})


def test_a_login(kafka: KafkaCluster) -> None:
    report = diagnosed(kafka, "admin", "admin-secret")
    assert report.ok, str(report)
    [server], [controller] = report.facts.bootstrap, report.facts.brokers
    for endpoint, last in ((server, "Metadata"), (controller.endpoint, "Identity")):
        [address] = endpoint.addresses
        assert [step.check for step in address.steps] == ["TCP", "ApiVersions", "SASL", last]
        assert all(step.ok and step.seconds > 0 for step in address.steps)
    assert {found.code for found in report.findings} == {"not_asked_of_controllers"}


def test_a_principal_without_permission(kafka: KafkaCluster) -> None:
    """Controllers demand Alter for a description; the remedy that is printed works."""
    report = diagnosed(kafka, "ann", "ann-secret")
    [found] = report.findings
    assert (found.code, report.exit_code) == ("not_authorized", 8), str(report)
    assert "--allow alter --cluster" in found.fix
    with ottla.Admin(kafka.bootstrap) as admin:
        admin.create_acls([Acl("cluster", "kafka-cluster", "User:ann", "alter")])
    wait_until(lambda: diagnosed(kafka, "ann", "ann-secret").ok, lambda: "the entry has no effect")
    # The ids of the nodes need another permission: they are left out.
    [controller] = diagnosed(kafka, "ann", "ann-secret").facts.brokers
    assert controller.endpoint.working is not None
    assert controller.endpoint.addresses[0].node is None


def test_a_wrong_password(kafka: KafkaCluster) -> None:
    report = diagnosed(kafka, "ann", "wrong-secret")
    [found] = report.findings
    assert (found.code, report.exit_code) == ("credentials", 7), str(report)
    assert f"bootstrap controller {controllers_of(kafka)} rejected the credentials" in found.summary
    assert "wrong-secret" not in str(report)


def test_a_mechanism_that_is_not_offered(kafka: KafkaCluster) -> None:
    report = diagnosed(kafka, "ann", "ann-secret", sasl_mechanism="SCRAM-SHA-256")
    [found] = report.findings
    assert (found.code, report.exit_code) == ("mechanism", 7), str(report)


def test_no_credentials(kafka: KafkaCluster) -> None:
    report = ottla.diagnose({"bootstrap.controllers": controllers_of(kafka)}, timeout=10)
    [found] = report.findings
    assert (found.code, report.exit_code) == ("no_metadata", 8), str(report)
    assert "set security.protocol=SASL_PLAINTEXT and sasl.mechanism" in found.summary
