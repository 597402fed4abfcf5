"""Checks of the calls about brokers, replicas, leaders, the quorum and features."""

from __future__ import annotations

import pytest

from ottla import errors
from ottla.admin import RaftVoterEndpoint
from tests.compat.admin_checks.world import World, refused
from tests.support.kafka_admin import wait_until

DIRECTORY = "Vx2rNbq5QmGlMNb4WPUZ0w"
FEATURE = "metadata.version"


def describe_cluster(world: World) -> None:
    cluster = world.admin.describe_cluster(fenced=True, authorized_operations=True)
    assert [each.id for each in cluster.brokers] == [1, 2, 3]
    assert [each.rack for each in cluster.brokers] == ["rack-a", "rack-b", "rack-c"]
    assert cluster.controller in {1, 2, 3}
    assert "ALTER" in (cluster.authorized_operations or ())


def unregister_broker(world: World) -> None:
    refused(lambda: world.admin.unregister_broker(99), "BROKER_ID_NOT_REGISTERED")


def describe_log_dirs(world: World) -> None:
    described = world.admin.describe_log_dirs()
    assert [len(described[broker]) for broker in (1, 2, 3)] == [1, 1, 1]
    replicas = [each for each in described[1][0].replicas if each.topic == world.topic]
    assert [each.partition for each in replicas] == [0, 1, 2]
    assert replicas[0].size > 0


def alter_replica_log_dirs(world: World) -> None:
    path = world.kafka.nodes[2].properties["log.dirs"]
    replica = world.topic, 0, 2
    assert world.admin.alter_replica_log_dirs({replica: path}, dry_run=True) == []
    assert world.admin.alter_replica_log_dirs({replica: path}) == {replica: True}
    only_there = world.new_topic()
    leader = world.kafka.leader_of(only_there)
    other = leader % 3 + 1
    path = world.kafka.nodes[other].properties["log.dirs"]
    replica = only_there, 0, other
    assert world.admin.alter_replica_log_dirs({replica: path}) == {replica: False}


def alter_partition_reassignments(world: World) -> None:
    name = world.new_topic()
    leader = world.kafka.leader_of(name)
    place, other = (name, 0), leader % 3 + 1
    plan = world.admin.alter_partition_reassignments({place: [other]}, dry_run=True)
    assert f"({leader} -> {other})" in str(plan)
    assert world.admin.alter_partition_reassignments({place: [other]}) == {place: None}
    wait_until(lambda: world.kafka.leader_of(name) == other, lambda: f"{other} leads")


def keep_the_replication_factor(world: World) -> None:
    name = world.new_topic()
    world.admin.alter_partition_reassignments(
        {(name, 0): [world.kafka.leader_of(name)]}, allow_replication_factor_change=False
    )


def list_partition_reassignments(world: World) -> None:
    assert world.admin.list_partition_reassignments([(world.topic, 0)]) == []
    assert world.admin.list_partition_reassignments() == []


def elect_leaders(world: World) -> None:
    place = world.topic, 0
    assert world.admin.elect_leaders([place], unclean=True) == {place: False}
    assert world.admin.elect_leaders([place]) == {place: False}
    assert world.admin.elect_leaders() == {}
    assert world.admin.elect_leaders(dry_run=True) == []


def describe_metadata_quorum(world: World) -> None:
    quorum = world.admin.describe_metadata_quorum()
    assert [each.replica_id for each in quorum.voters] == [1, 2, 3]
    assert all(each.last_fetch_ms for each in quorum.voters)
    assert quorum.leader_id in {1, 2, 3}


def add_raft_voter(world: World) -> None:
    endpoints = [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 1)]
    # The quorum is static.
    refused(lambda: world.admin.add_raft_voter(4, DIRECTORY, endpoints), "kraft.version")


def remove_raft_voter(world: World) -> None:
    refused(lambda: world.admin.remove_raft_voter(3, DIRECTORY), "kraft.version")


def describe_features(world: World) -> None:
    features = world.admin.describe_features()
    assert list(features.supported_features) == [1, 2, 3]
    if world.kafka.release == "kafka-2.8":
        assert features.finalized_features == {}
    else:
        supported = features.supported_features[1][FEATURE]
        level = features.finalized_features[FEATURE]
        assert supported.min_version < level <= supported.max_version
        assert features.finalized_features_epoch is not None


def update_features(world: World) -> None:
    for dry_run in (True, False):
        with pytest.raises(errors.BrokerError) as raised:
            world.admin.update_features({"nonsense": 1}, dry_run=dry_run)
        assert raised.value.name != "UNSUPPORTED_VERSION"
    if world.kafka.release != "kafka-2.8":
        level = world.admin.describe_features().finalized_features[FEATURE]
        assert world.admin.update_features({FEATURE: level}, dry_run=True) == []
        assert world.admin.update_features({FEATURE: level}) == {FEATURE: None}
