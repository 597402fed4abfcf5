"""An Admin and the commands over ``bootstrap.controllers`` (KIP-919), on Kafka's controllers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

import ottla
from ottla import errors
from ottla.admin import ConfigResource
from tests.cluster.conftest import controllers_of
from tests.support import kafka_releases
from tests.support.command import ottla_here
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

KEY = "bootstrap.controllers"


@pytest.fixture
def admin(kafka: KafkaCluster) -> Iterator[ottla.Admin]:
    """An Admin over the brokers of the same cluster."""
    with ottla.Admin(kafka.bootstrap) as admin:
        yield admin


def test_an_admin_over_controllers(kafka: KafkaCluster, admin: ottla.Admin) -> None:
    with ottla.Admin({KEY: controllers_of(kafka)}) as direct:
        assert controllers_of(kafka) in repr(direct)
        quorum = direct.describe_metadata_quorum()
        assert [voter.replica_id for voter in quorum.voters] == [1, 2, 3]
        cluster = direct.describe_cluster()
        assert cluster.cluster_id == admin.describe_cluster().cluster_id
        assert cluster.controller == quorum.leader_id
        addresses = [f"{each.host}:{each.port}" for each in cluster.brokers]
        assert addresses == controllers_of(kafka).split(",")
        features = direct.describe_features()
        assert features.finalized_features == admin.describe_features().finalized_features
        assert set(features.supported_features) == {1, 2, 3}
        node = ConfigResource("broker", "2")
        assert direct.describe_configs([node])[node]["node.id"].value == "2"


def test_changes_over_controllers(kafka: KafkaCluster, admin: ottla.Admin) -> None:
    name = f"direct-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(bootstrap_controllers=controllers_of(kafka)) as direct:
        kafka.create_topic(name, 1, 3)
        topic = ConfigResource("topic", name)
        direct.alter_configs({topic: {"retention.ms": "12345"}})

        def is_altered() -> bool:
            return admin.describe_configs([topic])[topic]["retention.ms"].value == "12345"

        wait_until(is_altered, lambda: "the change has not reached the broker")
        with pytest.raises(errors.BrokerError, match="controllers do not support Metadata"):
            direct.describe_topics([name])
    with (
        ottla.Client({KEY: controllers_of(kafka)}) as client,
        pytest.raises(errors.ConfigError, match="controllers do not describe topics"),
    ):
        client.partitions_for(name)


def test_brokers_are_not_taken_for_controllers(kafka: KafkaCluster) -> None:
    is_told = kafka_releases.number(kafka.release) >= (3, 7)
    why = "port of a broker" if is_told else "needs Kafka 3.7"
    with pytest.raises(errors.BootstrapError, match=rf"{why}: use bootstrap\.servers"):
        ottla.Admin({KEY: kafka.bootstrap}, timeout=10)
    broker = kafka.bootstrap.split(",")[0]
    [found, *_] = ottla.diagnose({KEY: broker}).findings
    assert (found.code, found.severity) == ("broker_port", "error")
    assert f"{broker} is the port of a broker" in found.summary


def test_controllers_are_not_taken_for_brokers(kafka: KafkaCluster) -> None:
    with pytest.raises(errors.KafkaError, match=r"KRaft controller.*or bootstrap\.controllers"):
        ottla.Admin(controllers_of(kafka), timeout=10)


def test_commands_over_controllers(kafka: KafkaCluster) -> None:
    where = ["--bootstrap-controller", controllers_of(kafka)]
    shown = ottla_here("quorum", "describe", *where, "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.text)
    refused = ottla_here("topics", "list", *where)
    assert refused.code != 0
    assert "controllers" in refused.err


def test_the_doctor_checks_controllers(kafka: KafkaCluster) -> None:
    report = ottla.diagnose({KEY: controllers_of(kafka)})
    assert report.ok, str(report)
    facts = report.facts
    assert [(each.id, each.endpoint.working is not None) for each in facts.brokers] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    # Each said its id at its advertised address.
    assert [each.endpoint.addresses[0].node for each in facts.brokers] == [1, 2, 3]
    assert facts.quorum is not None
    assert facts.quorum.leader in {1, 2, 3}
    assert [voter.id for voter in facts.quorum.voters] == [1, 2, 3]
    [note] = report.findings
    assert note.code == "not_asked_of_controllers"
    assert "all 3 controllers respond at their advertised addresses" in str(report)
    # One that is down is told, and the others are checked.
    first, *_ = controllers_of(kafka).split(",")
    partly = ottla_here("doctor", "--bootstrap-controller", f"127.0.0.1:9,{first}", "--json")
    assert partly.code == 0, partly.err
    assert "bootstrap controller 127.0.0.1:9 refuses connections" in partly.text


def test_the_doctor_tells_brokers_and_controllers_apart(kafka: KafkaCluster) -> None:
    controller, broker = (each.split(",")[0] for each in (controllers_of(kafka), kafka.bootstrap))
    [found] = ottla.diagnose(controller).findings
    assert found.code == "controller_port"
    assert "--bootstrap-controller" in found.fix
    [found, *_] = ottla.diagnose({KEY: f"{controller},{broker}"}).findings
    assert (found.code, found.severity) == ("broker_port", "warning")
    assert f"{broker} is the port of a broker" in found.summary
