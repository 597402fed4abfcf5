"""KafkaAdminClient of the layer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.compat.kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition, errors
from ottla.compat.kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    OffsetTimestamp,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UpdateFeatureType,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from ottla.compat.kafka.admin._acls import _entry, _filter, _native
from ottla.compat.kafka.errors import NoError
from ottla.testing import MockCluster

ORDERS = [TopicPartition("orders", partition) for partition in range(3)]


@pytest.fixture
def admin(mock_cluster: MockCluster) -> Iterator[KafkaAdminClient]:
    """An admin client."""
    with KafkaAdminClient(bootstrap_servers=mock_cluster.bootstrap) as admin:
        yield admin


def test_topics(admin: KafkaAdminClient) -> None:
    created = admin.create_topics([NewTopic("a", 2, 1)])["topics"]
    assert [(topic["name"], topic["error_code"]) for topic in created] == [("a", 0)]
    admin.create_topics({"b": {"num_partitions": 1, "configs": {"retention.ms": "1000"}}})
    admin.create_topics(["c"], wait_for_metadata=True)
    assert sorted(admin.list_topics()) == ["a", "b", "c"]
    with pytest.raises(errors.TopicAlreadyExistsError):
        admin.create_topics(["a"])
    [again] = admin.create_topics(["a"], raise_errors=False)["topics"]
    assert again["error_code"] == errors.TopicAlreadyExistsError.errno
    with pytest.raises(ValueError, match="No valid topics"):
        admin.create_topics([])
    admin.wait_for_topics(["a", "b"])
    [described, missing] = admin.describe_topics(["a", "missing"])
    assert [each["partition_index"] for each in described["partitions"]] == [0, 1]
    assert described["topic_id"].int
    assert missing["error_code"] == errors.UnknownTopicOrPartitionError.errno
    admin.create_partitions({"a": NewPartitions(3), "b": 2})
    assert len(admin.describe_topics(["a"])[0]["partitions"]) == 3
    assert admin.delete_topics(["a"])["topics"][0]["error_code"] == 0
    with pytest.raises(errors.UnknownTopicOrPartitionError):
        admin.delete_topics(["a"])
    with pytest.raises(errors.KafkaTimeoutError):
        admin.wait_for_topics(["a"], timeout_ms=1)


def test_new_partitions_have_the_brokers_that_are_given(admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic("a", 1, 1), NewTopic("b", 1, 1)])
    admin.create_partitions({"a": NewPartitions(2, [[3]])}, validate_only=True)
    with pytest.raises(errors.InvalidReplicationAssignmentError):
        admin.create_partitions({"a": NewPartitions(3, [[3]])}, validate_only=True)
    with pytest.raises(errors.InvalidReplicationAssignmentError):
        admin.create_partitions({"a": NewPartitions(3, [[3]])})
    admin.create_partitions(
        {"a": NewPartitions(3, [[3], [2]]), "b": {"count": 2, "assignments": [[1]]}}
    )
    for name, expected in (("a", [[3], [2]]), ("b", [[1]])):
        [described] = admin.describe_topics([name])
        assert [each["replica_nodes"] for each in described["partitions"]][1:] == expected


def test_topics_by_id(admin: KafkaAdminClient) -> None:
    admin.create_topics(["a", "b"])
    known, missing = admin.describe_topics(["a"])[0]["topic_id"], uuid.UUID(int=7)
    described = admin.describe_topics([missing, "b", known])
    assert [(each["name"], each["error_code"]) for each in described] == [
        (None, errors.UnknownTopicIdError.errno),
        ("b", 0),
        ("a", 0),
    ]
    assert (described[0]["topic_id"], described[2]["topic_id"]) == (missing, known)
    deleted = admin.delete_topics([known, missing, "b"], raise_errors=False)["topics"]
    assert [(each["name"], each["topic_id"], each["error_code"]) for each in deleted] == [
        ("a", known, 0),
        (None, missing, errors.UnknownTopicIdError.errno),
        ("b", uuid.UUID(int=0), 0),
    ]
    assert admin.list_topics() == []
    with pytest.raises(errors.UnknownTopicIdError):
        admin.delete_topics([missing])


def test_partitions_in_pages(topic: str, admin: KafkaAdminClient) -> None:
    admin.create_topics({"b": {"num_partitions": 2}})
    seen: list[tuple[str, int]] = []
    cursor: Any = None
    pages = 0
    while pages == 0 or cursor:
        page = admin.describe_topic_partitions(["orders", "b"], 2, cursor)
        seen += [
            (each["name"], partition["partition_index"])
            for each in page["topics"]
            for partition in each["partitions"]
        ]
        cursor = page["next_cursor"]
        pages += 1
    assert seen == [("b", 0), ("b", 1), *ORDERS]
    assert pages == 3


def test_records_and_offsets(
    mock_cluster: MockCluster, topic: str, admin: KafkaAdminClient
) -> None:
    mock_cluster.append("orders", 0, [b"1", b"2", b"3"])
    assert admin.delete_records({ORDERS[0]: 1}) == {
        ORDERS[0]: {"partition_index": 0, "low_watermark": 1, "error_code": 0}
    }
    found = admin.list_partition_offsets({ORDERS[0]: OffsetSpec.EARLIEST, ORDERS[1]: 5})
    assert (found[ORDERS[0]].offset, found[ORDERS[1]].offset) == (1, -1)
    with pytest.raises(errors.OffsetOutOfRangeError):
        admin.delete_records({ORDERS[0]: 9})
    with pytest.raises(errors.BrokerResponseError):
        admin.delete_records({ORDERS[0]: 9, ORDERS[1]: 9})
    with pytest.raises(TypeError):
        admin.list_partition_offsets({ORDERS[0]: "latest"})  # type: ignore[dict-item]


def test_configurations(topic: str, admin: KafkaAdminClient) -> None:
    orders = ConfigResource("TOPIC", "orders", {"retention.ms": "1000"})
    assert admin.alter_configs([orders]) == {"topic": {"orders": "OK"}}
    found = admin.describe_configs([ConfigResource("topic", "orders")])
    assert found["topic"]["orders"]["retention.ms"]["value"] == "1000"
    assert found["topic"]["orders"]["retention.ms"]["config_source"] == "DYNAMIC_TOPIC_CONFIG"
    with pytest.raises(ValueError, match="Unrecognized"):
        admin.alter_configs([ConfigResource("TOPIC", "orders", {"no.such.key": "1"})])
    assert admin.reset_configs([ConfigResource("TOPIC", "orders", ["retention.ms"])]) == {
        "topic": {"orders": "OK"}
    }
    assert admin.describe_configs([ConfigResource("TOPIC", "orders")])["topic"]["orders"] == {}
    with pytest.raises(ValueError, match="invalid literal"):
        admin.describe_configs([ConfigResource("BROKER", "one")])
    assert "secret" not in repr(ConfigResource("TOPIC", "orders", {"key": "secret"}))


def test_groups_and_their_offsets(
    mock_cluster: MockCluster, topic: str, admin: KafkaAdminClient, consumer_of: Any
) -> None:
    mock_cluster.append("orders", 0, [b"1", b"2", b"3"])
    with consumer_of("orders", group_id="g") as consumer:
        next(consumer)
        [listed] = admin.list_groups()
        assert (listed["group_id"], listed["protocol_type"]) == ("g", "consumer")
        group = admin.describe_groups(["g"])["g"]
        [member] = group["members"]
        assert group["error"] is None
        assert member["member_metadata"]["topics"] == ["orders"]
        assert member["member_assignment"]["assigned_partitions"] == [
            {"topic": "orders", "partitions": [0, 1, 2]}
        ]
        assert admin.delete_groups(["g"]) == {"g": "NonEmptyGroupError"}
    assert admin.list_group_offsets("g")["g"][ORDERS[0]].offset == 1
    assert admin.alter_group_offsets("g", {ORDERS[0]: OffsetAndMetadata(2, "note")}) == {
        ORDERS[0]: NoError
    }
    assert admin.list_group_offsets({"g": [ORDERS[0]]}) == {
        "g": {ORDERS[0]: OffsetAndMetadata(2, "note", -1)}
    }
    moved = admin.reset_group_offsets(
        "g", {ORDERS[0]: OffsetSpec.LATEST, ORDERS[1]: 99, ORDERS[2]: OffsetTimestamp(5)}
    )
    assert {partition: each["offset"] for partition, each in moved.items()} == {
        ORDERS[0]: 3,
        ORDERS[1]: 0,
        ORDERS[2]: 0,
    }
    assert admin.delete_group_offsets("g", [ORDERS[0]]) == {ORDERS[0]: NoError}
    assert ORDERS[0] not in admin.list_group_offsets(["g"])["g"]
    assert admin.remove_group_members("g", [MemberToRemove("gone")]) == {
        "gone": errors.UnknownMemberIdError
    }
    assert admin.list_consumer_groups() == [("g", "consumer")]
    assert admin.describe_consumer_groups(["g"])[0].state == "Empty"
    assert ORDERS[1] in admin.list_consumer_group_offsets("g")
    assert admin.delete_consumer_groups(["g"]) == [("g", NoError)]
    assert admin.delete_groups(["g"]) == {"g": "GroupIdNotFoundError"}
    assert "GroupIdNotFoundError" in admin.describe_groups(["g"])["g"]["error"]


def test_the_cluster(admin: KafkaAdminClient) -> None:
    cluster = admin.describe_cluster()
    assert [broker["broker_id"] for broker in cluster["brokers"]] == [1, 2, 3]
    assert admin.describe_features()["transaction.version"]["finalized"] == (2, 2)
    assert admin.update_features({"transaction.version": (UpdateFeatureType.UNSAFE_DOWNGRADE, 0)})
    assert admin.bootstrap_connected()
    assert {broker.node_id for broker in admin._manager.cluster.brokers()} == {1, 2, 3}
    admin.close()
    admin.close()


def test_filters_of_acls_match_the_same() -> None:
    pattern = ResourcePattern(ResourceType.TOPIC, "orders")
    acl = ACL("User:ann", "*", ACLOperation.DESCRIBE_CONFIGS, ACLPermissionType.ALLOW, pattern)
    assert _entry(_native(acl)) == acl
    wanted = _filter(ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.DENY, pattern))
    assert (wanted.operation, wanted.permission, wanted.principal) == (None, "deny", None)
    assert (wanted.resource_type, wanted.pattern_type) == ("topic", "literal")
    with pytest.raises(errors.IllegalArgumentError):
        _filter(ACLFilter(None, None, ACLOperation.UNKNOWN, ACLPermissionType.ALLOW, pattern))
    with pytest.raises(errors.IllegalArgumentError):
        ACL("User:ann", "*", ACLOperation.ANY, ACLPermissionType.ALLOW, pattern)
    with pytest.raises(errors.IllegalArgumentError):
        ResourcePattern(ResourceType.ANY, "orders")


def test_transactions(
    mock_cluster: MockCluster, topic: str, admin: KafkaAdminClient, producer_of: Any
) -> None:
    producer = producer_of(transactional_id="t")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("orders", b"v", partition=0).get(timeout=30)
    listed = [each for found in admin.list_transactions().values() for each in found]
    assert [(each.transactional_id, each.state) for each in listed] == [("t", "Ongoing")]
    described = admin.describe_transactions(["t"])["t"]
    assert described.topic_partitions == {ORDERS[0]}
    assert described.coordinator_id == mock_cluster.coordinator("t")
    assert described.transaction_timeout_ms == 60_000
    [known] = admin.describe_producers([ORDERS[0]])[ORDERS[0]].active_producers
    assert (known.producer_id, known.current_transaction_start_offset) == (
        described.producer_id,
        0,
    )
    producer.abort_transaction()
    with pytest.raises(errors.IllegalArgumentError):
        admin.describe_producers([ORDERS[0]], broker_id=1)
    assert admin.describe_producers([]) == {} == admin.describe_transactions([])


def test_users(admin: KafkaAdminClient) -> None:
    ann = UserScramCredentialUpsertion("ann", "SCRAM-SHA-256", b"secret")
    assert "secret" not in repr(ann)
    assert admin.alter_user_scram_credentials([ann]) == {"ann": None}
    assert admin.describe_user_scram_credentials(["ann"])["ann"]["credential_infos"] == [
        {"mechanism": ScramMechanism.SCRAM_SHA_256, "iterations": 4096}
    ]
    gone = UserScramCredentialDeletion("ann", 1)
    assert admin.alter_user_scram_credentials([gone]) == {"ann": None}
    salted = UserScramCredentialUpsertion("ann", 2, "secret", salt=b"own salt")
    assert "own salt" not in repr(salted)
    assert admin.alter_user_scram_credentials([salted]) == {"ann": None}
    with pytest.raises(errors.IllegalArgumentError):
        admin.alter_user_scram_credentials([object()])
