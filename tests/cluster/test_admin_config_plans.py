"""Plans of configurations: what would change, and nothing else; on the mock and on Kafka."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.admin import Append, ConfigResource, PlannedChange, QuotaEntity
from ottla.admin.configs import Alteration
from tests.cluster.conftest import Brokers
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster


def test_a_plan_has_what_would_change(brokers: Brokers) -> None:
    """Regression: unsetting a key that was never set was planned as a change."""
    topic = ConfigResource("topic", brokers.create_topic())

    with ottla.Admin(brokers.bootstrap) as admin:

        def planned(**values: Alteration) -> list[PlannedChange]:
            keys = {key.replace("_", "."): value for key, value in values.items()}
            return list(admin.alter_configs({topic: keys}, dry_run=True))

        def change(detail: str, before: str, after: str) -> list[PlannedChange]:
            return [PlannedChange("alter", str(topic), detail, before, after)]

        def value(key: str) -> str | None:
            return admin.describe_configs([topic])[topic][key].value

        assert planned(max_message_bytes=None, min_insync_replicas=None) == []
        # The default may change, a value that was set does not.
        default = value("max.message.bytes")
        assert default is not None
        pinned = change("max.message.bytes, no longer inherited", default, default)
        assert planned(max_message_bytes=default) == pinned
        policy = change("cleanup.policy, no longer inherited", "delete", "delete")
        assert planned(cleanup_policy=Append("delete")) == policy
        with pytest.raises(errors.ConfigError, match=r"has no key no\.such\.key"):
            planned(no_such_key=None)

        set_values = {"max.message.bytes": default, "min.insync.replicas": "2"}
        admin.alter_configs({topic: {**set_values, "cleanup.policy": "compact"}})
        wait_until(lambda: value("min.insync.replicas") == "2", lambda: "all brokers know it")
        assert planned(max_message_bytes=default, min_insync_replicas="2") == []
        assert planned(cleanup_policy=Append("compact")) == []
        assert planned(min_insync_replicas=None) == change("min.insync.replicas", "2", "1")
        unpinned = change("max.message.bytes, inherited again", default, default)
        assert planned(max_message_bytes=None) == unpinned


@pytest.mark.cluster
def test_the_default_in_another_unit_is_known(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    """Brokers do not report that `retention.ms` comes from `log.retention.hours`."""
    topic = ConfigResource("topic", kafka_topic(config={"retention.ms": "9000"}))
    with ottla.Admin(kafka.bootstrap) as admin:
        [change] = admin.alter_configs({topic: {"retention.ms": None}}, dry_run=True)
        assert (change.before, change.after) == ("9000", "604800000")


def test_a_plan_of_quotas_has_what_would_change(brokers: Brokers) -> None:
    entity = QuotaEntity(user="config-plans")
    with ottla.Admin(brokers.bootstrap) as admin:
        assert (
            list(admin.alter_client_quotas({entity: {"producer_byte_rate": None}}, dry_run=True))
            == []
        )
        assert (
            len(admin.alter_client_quotas({entity: {"producer_byte_rate": 5.0}}, dry_run=True)) == 1
        )


@pytest.mark.cluster
def test_a_plan_shows_no_secret(kafka: KafkaCluster) -> None:
    broker = ConfigResource("broker", "1")
    with ottla.Admin(kafka.bootstrap) as admin:
        for key in ("ssl.truststore.password", "plain.sasl.jaas.config"):
            values = {f"listener.name.plaintext.{key}": "hunter2"}
            [change] = admin.alter_configs({broker: values}, dry_run=True)
            assert change.after == "(secret)"
            assert "hunter2" not in repr(change)
