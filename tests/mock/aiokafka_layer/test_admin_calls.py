"""aiokafka's layer: the admin client returns what programs unpack; clients log in."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.compat.aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from ottla.compat.aiokafka.admin import (
    AIOKafkaAdminClient,
    NewPartitions,
    NewTopic,
    RecordsToDelete,
)
from ottla.compat.aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from ottla.compat.aiokafka.errors import (
    IllegalArgumentError,
    InvalidReplicationAssignmentError,
    TopicAlreadyExistsError,
)
from ottla.testing import MockCluster
from tests.support.loops import run

P0 = TopicPartition("made", 0)


def test_topics_configs_groups_and_records(mock_cluster: MockCluster) -> None:
    async def manage() -> None:
        async with AIOKafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin:
            new = NewTopic("made", 1, 1, topic_configs={"retention.ms": "1000"})
            made = await admin.create_topics([new])
            assert made.topic_errors == [("made", 0, None)]
            again = await admin.create_topics([new])
            assert again.topic_errors[0][:2] == ("made", TopicAlreadyExistsError.errno)
            assert "made" in await admin.list_topics()
            await admin.create_partitions({"made": NewPartitions(total_count=2)})
            [described] = await admin.describe_topics(["made"])
            assert [item["partition"] for item in described["partitions"]] == [0, 1]
            cluster = await admin.describe_cluster()
            assert {item["node_id"] for item in cluster["brokers"]} == set(mock_cluster.brokers)

            resource = ConfigResource(
                ConfigResourceType.TOPIC, "made", {"max.message.bytes": "2000"}
            )
            await admin.alter_configs([resource])
            resource.configs = None
            [response] = await admin.describe_configs([resource])
            code, _, kind, name, entries = response.resources[0]
            assert (code, kind, name) == (0, ConfigResourceType.TOPIC, "made")
            values = {entry[0]: entry[1] for entry in entries}
            # As with aiokafka, what is not named becomes the default.
            assert values["max.message.bytes"] == "2000"
            assert values["retention.ms"] != "1000"

            mock_cluster.append("made", 0, [b"a", b"b", b"c"])
            assert await admin.delete_records({P0: RecordsToDelete(before_offset=2)}) == {P0: 2}
            reader = AIOKafkaConsumer(
                "made",
                bootstrap_servers=mock_cluster.bootstrap,
                group_id="readers",
                auto_offset_reset="earliest",
            )
            async with reader:
                assert (await reader.getone()).value == b"c"
                await reader.commit()
                assert ("readers", "consumer") in await admin.list_consumer_groups()
                [response_of_group] = await admin.describe_consumer_groups(["readers"])
                assert response_of_group.groups[0][:3] == (0, "readers", "Stable")
            offsets = await admin.list_consumer_group_offsets("readers", partitions=[P0])
            assert offsets[P0].offset == 3
            assert await admin.find_coordinator("readers") in mock_cluster.brokers
            assert (await admin.delete_topics(["made"])).topic_error_codes == [("made", 0)]
        with pytest.raises(IllegalArgumentError):
            NewTopic("made", -1, -1)

    run(manage())


def test_new_partitions_have_the_brokers_that_are_given(mock_cluster: MockCluster) -> None:
    async def enlarge() -> None:
        async with AIOKafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin:
            await admin.create_topics([NewTopic("made", 1, 1)])
            one_is_missing = {"made": NewPartitions(3, [[3]])}
            checked = await admin.create_partitions(one_is_missing, validate_only=True)
            assert checked.topic_errors[0][1] == InvalidReplicationAssignmentError.errno
            with pytest.raises(InvalidReplicationAssignmentError):
                await admin.create_partitions(one_is_missing)
            await admin.create_partitions({"made": NewPartitions(3, [[3], [2]])})
            [described] = await admin.describe_topics(["made"])
            assert [each["replicas"] for each in described["partitions"]][1:] == [[3], [2]]

    run(enlarge())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_clients_log_in(mechanism: str) -> None:
    async def write_and_read(cluster: MockCluster) -> None:
        options: dict[str, Any] = {
            "bootstrap_servers": cluster.bootstrap,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": mechanism,
            "sasl_plain_username": "user",
            "sasl_plain_password": "secret",
        }
        async with AIOKafkaProducer(**options) as producer:
            await producer.send_and_wait("orders", b"v")
        reader = AIOKafkaConsumer("orders", auto_offset_reset="earliest", **options)
        async with reader:
            assert (await reader.getone()).value == b"v"

    with MockCluster(users={"user": "secret"}) as cluster:
        run(write_and_read(cluster))


def test_responses_return_themselves_as_dicts(mock_cluster: MockCluster) -> None:
    """FastStream reads the result of creating topics in this form."""

    async def manage() -> None:
        async with AIOKafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin:
            made = await admin.create_topics([NewTopic("made", 1, 1)])
            topic = {"topic": "made", "error_code": 0, "error_message": None}
            assert made.to_object() == {"throttle_time_ms": 0, "topic_errors": [topic]}

            resource = ConfigResource(
                ConfigResourceType.TOPIC, "made", {"max.message.bytes": "2000"}
            )
            [altered] = (await admin.alter_configs([resource]))[0].to_object()["resources"]
            assert altered["resource_name"] == "made"
            resource.configs = None
            [response] = await admin.describe_configs([resource])
            [described] = response.to_object()["resources"]
            assert described["resource_type"] == ConfigResourceType.TOPIC
            values = {e["config_names"]: e["config_value"] for e in described["config_entries"]}
            assert values["max.message.bytes"] == "2000"

            reader = AIOKafkaConsumer(
                "made", bootstrap_servers=mock_cluster.bootstrap, group_id="readers"
            )
            async with reader:
                [response_of_group] = await admin.describe_consumer_groups(["readers"])
                [group] = response_of_group.to_object()["groups"]
                assert (group["group"], group["state"]) == ("readers", "Stable")
                assert len(group["members"]) == 1
            [deleted] = (await admin.delete_topics(["made"])).to_object()["topic_error_codes"]
            assert deleted == {"topic": "made", "error_code": 0}

    run(manage())
