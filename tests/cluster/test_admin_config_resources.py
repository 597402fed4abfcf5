"""Admin's calls about the configuration of client metrics and groups, on Kafka."""

from __future__ import annotations

import uuid

import pytest

import ottla
from ottla import errors
from ottla.admin import Alteration, ConfigResource
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.ClientMetricsCommand"


def test_client_metrics_and_groups(
    admin: ottla.Admin, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    name, topic = f"both-{uuid.uuid4().hex[:12]}", kafka_topic()
    metrics, group = ConfigResource("client_metrics", name), ConfigResource("group", name)
    changes: dict[ConfigResource, dict[str, Alteration]] = {
        metrics: {"interval.ms": "60000", "metrics": "org.apache.kafka.producer."},
        group: {"consumer.session.timeout.ms": "50000"},
    }
    plan = admin.alter_configs(changes, dry_run=True)
    assert f"alter group {name}: consumer.session.timeout.ms (45000 -> 50000)" in str(plan)
    assert admin.alter_configs(changes) == {metrics: None, group: None}

    def listed() -> set[ConfigResource]:
        return set(admin.list_config_resources(["client_metrics", "group"]))

    wait_until(lambda: {metrics, group} <= listed(), lambda: f"both are listed: {listed()}")
    every = admin.list_config_resources()
    assert {metrics, group, ConfigResource("topic", topic)} <= set(every)
    for kind in ("broker", "broker_logger"):
        assert [each.name for each in every if each.type == kind] == ["1", "2", "3"]
    assert every.to_arrow().column("type").to_pylist()[0] == "broker"
    described = admin.describe_configs([metrics, group])
    assert described[metrics]["interval.ms"].value == "60000"
    assert described[metrics]["interval.ms"].source == "DYNAMIC_CLIENT_METRICS_CONFIG"
    assert described[group]["consumer.session.timeout.ms"].source == "DYNAMIC_GROUP_CONFIG"
    arguments = ("--bootstrap-server", kafka.bootstrap, "--describe", "--name", name)
    shown = kafka.run_tool(TOOL, *arguments)
    assert "interval.ms=60000" in shown
    assert "metrics=org.apache.kafka.producer." in shown

    admin.alter_configs({each: dict.fromkeys(values) for each, values in changes.items()})
    wait_until(lambda: not {metrics, group} & listed(), lambda: f"both are gone: {listed()}")
    with pytest.raises(errors.ConfigError, match="'table' has no configuration"):
        admin.list_config_resources(["table"])  # type: ignore[list-item]
