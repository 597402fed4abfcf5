"""Admin's call to unregister a broker, on Kafka; its own tool shows the same."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.ClusterTool"


def test_a_broker_that_is_not_registered(admin: ottla.Admin, kafka_topic: TopicFactory) -> None:
    kafka_topic(partitions=5)
    with pytest.raises(errors.BrokerError, match="BROKER_ID_NOT_REGISTERED"):
        admin.unregister_broker(99)
    with pytest.raises(errors.BrokerError, match=r"broker 99.*BROKER_ID_NOT_REGISTERED"):
        admin.unregister_broker(99, dry_run=True)
    [planned] = admin.unregister_broker(2, dry_run=True)
    assert (planned.action, planned.resource) == ("unregister", "broker 2")
    assert planned.detail.startswith("it is alive and has ")
    assert int(planned.detail.split()[-2]) >= 5
    assert 2 in {each.id for each in admin.describe_cluster().brokers}


@pytest.mark.deep
def test_a_broker_that_is_gone_is_unregistered() -> None:
    with KafkaCluster(config=FAST_FAILOVER) as kafka, ottla.Admin(kafka.bootstrap) as admin:
        kafka.kill(3)

        def fenced() -> dict[int, bool | None]:
            return {each.id: each.is_fenced for each in admin.describe_cluster(fenced=True).brokers}

        wait_until(
            lambda: fenced() == {1: False, 2: False, 3: True}, lambda: f"3 is fenced: {fenced()}"
        )
        # A reassignment to it does not make progress, and no call waits for its sizes.
        kafka.create_topic_led_by("waiting", [1])
        admin.alter_partition_reassignments({("waiting", 0): [1, 3]})
        [waiting] = admin.list_partition_reassignments(timeout=20)
        assert (waiting.adding_replicas, waiting.copied_bytes, waiting.progress) == (
            [3],
            None,
            None,
        )
        assert waiting.total_bytes == 0
        plan = admin.unregister_broker(3, dry_run=True)
        assert str(plan) == "unregister broker 3: it is not alive and has 1 replicas"
        admin.alter_partition_reassignments({("waiting", 0): None})
        admin.unregister_broker(3)
        wait_until(lambda: set(fenced()) == {1, 2}, lambda: f"3 is gone: {fenced()}")
        arguments = ("--bootstrap-server", kafka.bootstrap, "--include-fenced-brokers")
        shown = kafka.run_tool(TOOL, "list-endpoints", *arguments)
        ids = [line.split()[0] for line in shown.splitlines() if line.strip()]
        assert ids == ["ID", "1", "2"]
        with pytest.raises(errors.BrokerError, match="BROKER_ID_NOT_REGISTERED"):
            admin.unregister_broker(3)
