"""The stand-in's ``AdminClient``: what calls send, and the results that programs read."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from ottla.admin import Acl
from ottla.compat.confluent_kafka import (
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from ottla.compat.confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from ottla.compat.confluent_kafka.admin._acl_calls import _from_ottla
from ottla.testing import Fault, MockCluster


@pytest.fixture
def admin(mock_cluster: MockCluster) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": mock_cluster.bootstrap}) as admin:
        yield admin


def test_new_partitions_have_the_brokers_that_are_given(
    admin: AdminClient, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("enlarged", partitions=1)
    for validate_only in (True, False):
        [wrong] = admin.create_partitions(
            [NewPartitions("enlarged", 3, [[3]])], validate_only=validate_only
        ).values()
        with pytest.raises(KafkaException) as refused:
            wrong.result(30)
        assert refused.value.args[0].code() == KafkaError.INVALID_REPLICA_ASSIGNMENT
    [enlarged] = admin.create_partitions([NewPartitions("enlarged", 3, [[3], [2]])]).values()
    enlarged.result(30)
    [described] = admin.describe_topics(TopicCollection(["enlarged"])).values()
    partitions = described.result(30).partitions[1:]
    assert [[node.id for node in each.replicas] for each in partitions] == [[3], [2]]


def _failure(future: Future[Any]) -> KafkaError:
    raised = future.exception(30)
    assert isinstance(raised, KafkaException)
    error: KafkaError = raised.args[0]
    return error


@pytest.mark.parametrize("patience", [0, 0.05])
def test_a_topic_without_leaders_is_created(
    admin: AdminClient, mock_cluster: MockCluster, patience: float
) -> None:
    mock_cluster.stop_broker(3)
    [created] = admin.create_topics(
        [NewTopic("leaderless", 1, replica_assignment=[[3]])], operation_timeout=patience
    ).values()
    assert created.result(30) is None


def test_a_topic_that_one_broker_does_not_know_yet_is_found(
    admin: AdminClient, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("new", partitions=1)
    mock_cluster.inject(
        Fault.error("UNKNOWN_TOPIC_OR_PARTITION"), api="Metadata", topic="new", times=1
    )
    [described] = admin.describe_topics(TopicCollection(["new"])).values()
    assert described.result(30).name == "new"


def test_codes_tell_a_topic_from_a_partition_that_does_not_exist(
    admin: AdminClient, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("known", partitions=1)
    topic, partition = TopicPartition("unknown", 0), TopicPartition("known", 7)
    listed = admin.list_offsets({topic: OffsetSpec.latest(), partition: OffsetSpec.latest()})
    [deleted] = admin.delete_records([TopicPartition("unknown", 0, 1)]).values()
    assert _failure(listed[topic]) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert _failure(listed[partition]) == KafkaError._UNKNOWN_PARTITION
    assert _failure(deleted) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_what_is_given_twice_is_done(admin: AdminClient, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("twice", partitions=1)
    [deleted] = admin.delete_topics(["twice", "twice"]).values()
    assert deleted.result(30) is None
    changes = [
        UserScramCredentialUpsertion("ann", ScramCredentialInfo(mechanism, 4096), b"secret")
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    changed = admin.alter_user_scram_credentials([*changes, changes[0]])["ann"]
    assert changed.result(30) is None
    [found] = admin.describe_user_scram_credentials(["ann"]).values()  # type: ignore[union-attr]
    assert len(found.result(30).scram_credential_infos) == 2


def test_configurations_of_other_types_are_refused_without_a_request(
    admin: AdminClient, mock_cluster: MockCluster
) -> None:
    resource = ConfigResource(ResourceType.TRANSACTIONAL_ID, "t")
    [described] = admin.describe_configs([resource]).values()
    assert _failure(described) == KafkaError.INVALID_REQUEST
    assert mock_cluster.request_count("DescribeConfigs") == 0


@pytest.mark.parametrize("kind", ["delegation_token", "user"])
def test_an_acl_of_a_type_without_a_member_is_listed(kind: Any) -> None:
    found = _from_ottla(Acl(kind, "name", "User:ann", "describe"))
    assert (found.restype, found.name, found.principal) == (
        ResourceType.UNKNOWN,
        "name",
        "User:ann",
    )
