"""The scenarios of tests/cluster on Kafka 4.3, 3.9 and 2.8."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple

import pytest

import ottla
from ottla import errors
from ottla.admin import Alteration, ConfigResource
from tests.cluster import test_scenarios as scenarios
from tests.cluster.conftest import Brokers

pytestmark = pytest.mark.cluster

# The basic operations, and those that depend most on the broker's version.
test_topology = scenarios.test_topology
test_round_trip = scenarios.test_round_trip
test_send_batch_of_a_table = scenarios.test_send_batch_of_a_table
test_acks = scenarios.test_acks
test_bounds = scenarios.test_bounds
test_deleted_records = scenarios.test_deleted_records
test_log_append_time = scenarios.test_log_append_time
test_large_values = scenarios.test_large_values
test_too_large_for_the_topic = scenarios.test_too_large_for_the_topic
test_tombstones_need_keys_on_compacted_topics = (
    scenarios.test_tombstones_need_keys_on_compacted_topics
)
test_unknown_topic = scenarios.test_unknown_topic
test_illegal_topic_name = scenarios.test_illegal_topic_name


def test_largest_timestamp_needs_kafka_3(brokers: Brokers) -> None:
    topic = brokers.create_topic()
    with ottla.Client(brokers.bootstrap) as client:
        with ottla.Producer(client) as producer:
            producer.send_batch(topic, ["a", "b", "c"], timestamps=[1, 3, 2]).result(timeout=60)
        if brokers.release == "kafka-2.8":
            with pytest.raises(errors.BrokerError, match=r"up to version 6; .* 7 \(Kafka 3.0\)"):
                client.list_offsets({(topic, 0): "max_timestamp"})
        else:
            assert client.list_offsets({(topic, 0): "max_timestamp"})[topic, 0].offset == 1


@pytest.mark.parametrize(
    ("resource", "changes", "since"),
    [
        (ConfigResource("client_metrics", "m"), {"interval.ms": "60000"}, (3, 7)),
        (ConfigResource("group", "g"), {"consumer.session.timeout.ms": "50000"}, (4, 0)),
    ],
    ids=["client_metrics", "group"],
)
def test_resources_that_brokers_do_not_configure_yet(
    brokers: Brokers,
    resource: ConfigResource,
    changes: dict[str, Alteration],
    since: tuple[int, int],
) -> None:
    """Regression: brokers call such a request malformed, and the error said no more."""
    reset: dict[str, Alteration] = dict.fromkeys(changes)
    with ottla.Admin(brokers.bootstrap) as admin:
        calls: list[Callable[[], object]] = [
            lambda: admin.describe_configs([resource]),
            lambda: admin.alter_configs({resource: changes}),
            lambda: admin.alter_configs({resource: reset}),
            lambda: admin.alter_configs({resource: changes}, dry_run=True),
        ]
        for call in calls:
            if brokers.has(since):
                call()
                continue
            needed = r"{} {}: .* needs Kafka {}\.{}".format(*astuple(resource), *since)
            with pytest.raises(errors.BrokerError, match=needed) as raised:
                call()
            assert raised.value.name == "UNSUPPORTED_VERSION"


def test_the_doctor_finds_all_well_and_names_the_release(brokers: Brokers) -> None:
    topic = brokers.create_topic(partitions=3)
    for address in brokers.bootstrap.split(","):
        # The doctor queries all brokers, and a new topic reaches them one after the other.
        with ottla.Client(address) as client:
            client.cluster([topic], timeout=30)
    report = ottla.diagnose(brokers.bootstrap, topic=topic, group="doctor", timeout=120)
    assert report.ok, str(report)
    addresses = [broker.endpoint.addresses[0] for broker in report.facts.brokers]
    assert {address.release for address in addresses} == {brokers.release.removeprefix("kafka-")}
    assert [address.node for address in addresses] == [b.id for b in report.facts.brokers]
