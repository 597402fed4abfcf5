"""The stand-in's ``AdminClient``: what calls send, and the results that programs read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.compat.confluent_kafka import KafkaError, KafkaException, TopicCollection
from ottla.compat.confluent_kafka.admin import AdminClient, NewPartitions
from ottla.testing import MockCluster


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
