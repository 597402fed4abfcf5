"""The dry runs of Admin's calls: each returns a plan of at least one change, or raises an error.

Invariant: each names what exists already, so that only the dry run itself could change it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

import ottla
from ottla import errors
from ottla.admin import (
    Acl,
    AclFilter,
    ConfigResource,
    DelegationToken,
    DeletePassword,
    NewTopic,
    Plan,
    QuotaEntity,
    RaftVoterEndpoint,
    SetPassword,
)
from tests.compat.admin_checks.cluster import DIRECTORY, FEATURE
from tests.compat.admin_checks.world import World
from tests.support.kafka_admin import wait_until

PRODUCER_ID = 987_654_322


@dataclass
class Scene:
    """What the dry runs would change.

    Attributes:
        world: the cluster and its clients.
        topic: a topic of one partition with 3 records, of which the leader has the only replica.
        group: a group that has committed the offset 1 of the topic.
        user: a user with a password and a quota, and the principal of an ACL.
        prepared: a transaction in the topic that is open.
        hanging: a topic with a transaction from offset 0 that no coordinator knows.
        token: a delegation token.
        known: the names of what is there.
    """

    world: World
    topic: str
    group: str
    user: str
    prepared: ottla.PreparedTransaction
    hanging: str
    token: DelegationToken
    known: set[str] = field(default_factory=set)

    @property
    def admin(self) -> ottla.Admin:
        """The client."""
        return self.world.admin

    @property
    def other_broker(self) -> int:
        """A broker that does not lead the topic."""
        return self.world.kafka.leader_of(self.topic) % 3 + 1

    def state(self) -> dict[str, object]:
        """Return all that a dry run could change: of the scene, and what is new.

        What other tests have left behind may still be vanishing.
        """
        admin, names = self.admin, [self.topic, self.hanging]
        resources = [ConfigResource("topic", self.topic), ConfigResource("broker", "1")]
        quota = QuotaEntity(user=self.user)
        state: dict[str, object] = {
            "new": self.present() - self.known,
            "partitions": admin.describe_topics(names),
            "configs": admin.describe_configs(resources),
            "starts": admin.list_offsets({(self.topic, 0): "earliest"}),
            "brokers": admin.describe_cluster().brokers,
            "replicas": [
                (broker, each.path, replica.topic, replica.partition)
                for broker, paths in admin.describe_log_dirs().items()
                for each in paths
                for replica in each.replicas
                if replica.topic in names
            ],
            "reassignments": admin.list_partition_reassignments([(self.topic, 0)]),
            "producers": admin.describe_producers([(name, 0) for name in names]),
            "features": admin.describe_features().finalized_features,
            "group": admin.describe_groups([self.group]),
            "offsets": admin.list_group_offsets([self.group]),
            "acls": admin.describe_acls(AclFilter(principal=f"User:{self.user}")),
            "passwords": admin.describe_user_scram_credentials([self.user]),
            "quotas": admin.describe_client_quotas(quota),
            "token": self.token in self.world.user_admin.describe_delegation_token(),
        }
        if self.world.kafka.release != "kafka-2.8":
            quorum = admin.describe_metadata_quorum()
            transactional_id = self.prepared.transactional_id
            state["voters"] = [each.replica_id for each in quorum.voters]
            state["transaction"] = admin.describe_transactions([transactional_id])
        return state

    def present(self) -> set[str]:
        """Return the names of all topics, groups, users and tokens."""
        tokens = self.world.user_admin.describe_delegation_token()
        return {
            *(each.name for each in self.admin.list_topics()),
            *(each.group_id for each in self.admin.list_groups()),
            *self.admin.describe_user_scram_credentials(),
            *(each.token_id for each in tokens),
        }


def build_scene(world: World, producer: ottla.Producer, group: str) -> Scene:
    """Make what the dry runs would change; the producer's transaction is open afterwards."""
    admin, topic, user = world.admin, world.new_topic(), world.new_name()
    with ottla.Producer(world.kafka.bootstrap) as plain:
        for _ in range(3):
            plain.send(topic, b"x", partition=0)
    admin.alter_group_offsets(group, {(topic, 0): 1})
    admin.alter_user_scram_credentials({user: [SetPassword("a password")]})
    admin.alter_client_quotas({QuotaEntity(user=user): {"consumer_byte_rate": 1e6}})
    admin.create_acls([Acl("topic", topic, f"User:{user}", "read")])
    hanging = world.new_topic()
    world.kafka.leave_transaction_hanging(hanging, 0, PRODUCER_ID, ["hanging"])
    token = world.user_admin.create_delegation_token(max_lifetime=timedelta(hours=2))
    wait_until(
        lambda: token in world.user_admin.describe_delegation_token(),
        lambda: "the token is there",
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"open", partition=0).result(timeout=60)
    prepared = producer.prepare_transaction()
    assert prepared is not None
    scene = Scene(world, topic, group, user, prepared, hanging, token)
    scene.known = scene.present()
    return scene


def create_topic(scene: Scene) -> Plan:
    return scene.admin.create_topic(scene.world.new_name(), 2, 1, dry_run=True)


def create_topics(scene: Scene) -> Plan:
    topic = NewTopic(scene.world.new_name(), 1, 3, configs={"retention.ms": "1000"})
    return scene.admin.create_topics([topic], dry_run=True)


def delete_topic(scene: Scene) -> Plan:
    return scene.admin.delete_topic(scene.topic, dry_run=True)


def delete_topics(scene: Scene) -> Plan:
    return scene.admin.delete_topics([scene.topic], dry_run=True)


def delete_topics_by_id(scene: Scene) -> Plan:
    topic_id = scene.admin.describe_topics([scene.topic])[scene.topic].topic_id
    assert topic_id is not None
    with pytest.raises(errors.UnknownTopicError, match="UNKNOWN_TOPIC_ID"):
        scene.admin.delete_topics(ids=[DIRECTORY], dry_run=True)
    return scene.admin.delete_topics(ids=[topic_id], dry_run=True)


def create_partitions(scene: Scene) -> Plan:
    return scene.admin.create_partitions({scene.topic: 4}, dry_run=True)


def delete_records(scene: Scene) -> Plan:
    return scene.admin.delete_records({(scene.topic, 0): 2}, dry_run=True)


def alter_configs(scene: Scene) -> Plan:
    changes = {ConfigResource("topic", scene.topic): {"retention.ms": "3600000"}}
    return scene.admin.alter_configs(changes, dry_run=True)


def unregister_broker(scene: Scene) -> Plan:
    return scene.admin.unregister_broker(3, dry_run=True)


def alter_replica_log_dirs(scene: Scene) -> Plan:
    broker = scene.other_broker
    path = scene.world.kafka.nodes[broker].properties["log.dirs"]
    return scene.admin.alter_replica_log_dirs({(scene.topic, 0, broker): path}, dry_run=True)


def alter_partition_reassignments(scene: Scene) -> Plan:
    return scene.admin.alter_partition_reassignments(
        {(scene.topic, 0): [scene.other_broker]}, dry_run=True
    )


def keep_the_replication_factor(scene: Scene) -> Plan:
    return scene.admin.alter_partition_reassignments(
        {(scene.topic, 0): [scene.other_broker]},
        allow_replication_factor_change=False,
        dry_run=True,
    )


def elect_leaders(scene: Scene) -> Plan:
    plan = scene.admin.elect_leaders([(scene.topic, 0)], dry_run=True)
    # The first replica leads already.
    assert plan == []
    return plan


def add_raft_voter(scene: Scene) -> Plan:
    endpoints = [RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 1)]
    return scene.admin.add_raft_voter(4, DIRECTORY, endpoints, dry_run=True)


def remove_raft_voter(scene: Scene) -> Plan:
    return scene.admin.remove_raft_voter(3, DIRECTORY, dry_run=True)


def update_features(scene: Scene) -> Plan:
    level = scene.admin.describe_features().finalized_features.get(FEATURE, 2) - 1
    return scene.admin.update_features({FEATURE: level}, downgrade="unsafe", dry_run=True)


def delete_groups(scene: Scene) -> Plan:
    return scene.admin.delete_groups([scene.group], dry_run=True)


def remove_group_members(scene: Scene) -> Plan:
    plan = scene.admin.remove_group_members(scene.group, dry_run=True)
    # It has none.
    assert plan == []
    return plan


def alter_group_offsets(scene: Scene) -> Plan:
    return scene.admin.alter_group_offsets(scene.group, {(scene.topic, 0): 2}, dry_run=True)


def delete_group_offsets(scene: Scene) -> Plan:
    return scene.admin.delete_group_offsets(scene.group, [(scene.topic, 0)], dry_run=True)


def reset_group_offsets(scene: Scene) -> Plan:
    return scene.admin.reset_group_offsets(scene.group, "earliest", dry_run=True)


def alter_share_group_offsets(scene: Scene) -> Plan:
    group = scene.world.new_name()
    return scene.admin.alter_share_group_offsets(group, {(scene.topic, 0): 2}, dry_run=True)


def delete_share_group_offsets(scene: Scene) -> Plan:
    group = scene.world.new_name()
    return scene.admin.delete_share_group_offsets(group, [scene.topic], dry_run=True)


def create_acls(scene: Scene) -> Plan:
    acl = Acl("topic", scene.topic, f"User:{scene.user}", "write", pattern_type="prefixed")
    return scene.admin.create_acls([acl], dry_run=True)


def delete_acls(scene: Scene) -> Plan:
    return scene.admin.delete_acls([AclFilter(principal=f"User:{scene.user}")], dry_run=True)


def alter_user_scram_credentials(scene: Scene) -> Plan:
    changes = {scene.user: [SetPassword("another", "SCRAM-SHA-256", 8192)]}
    return scene.admin.alter_user_scram_credentials(changes, dry_run=True)


def delete_password(scene: Scene) -> Plan:
    changes = {scene.user: [DeletePassword("SCRAM-SHA-512")]}
    return scene.admin.alter_user_scram_credentials(changes, dry_run=True)


def alter_client_quotas(scene: Scene) -> Plan:
    limits = {QuotaEntity(user=scene.user): {"consumer_byte_rate": None}}
    return scene.admin.alter_client_quotas(limits, dry_run=True)


def create_delegation_token(scene: Scene) -> Plan:
    return scene.world.user_admin.create_delegation_token(renewers=["User:bob"], dry_run=True)


def token_of_another(scene: Scene) -> Plan:
    return scene.world.user_admin.create_delegation_token(owner="User:carol", dry_run=True)


def renew_delegation_token(scene: Scene) -> Plan:
    return scene.world.user_admin.renew_delegation_token(scene.token.hmac, dry_run=True)


def expire_delegation_token(scene: Scene) -> Plan:
    return scene.world.user_admin.expire_delegation_token(scene.token.hmac, dry_run=True)


def fence_producers(scene: Scene) -> Plan:
    return scene.admin.fence_producers([scene.prepared.transactional_id], dry_run=True)


def end_prepared_transactions(scene: Scene) -> Plan:
    return scene.admin.end_prepared_transactions([scene.prepared], commit=True, dry_run=True)


def abort_hanging_transaction(scene: Scene) -> Plan:
    return scene.admin.abort_hanging_transaction(scene.hanging, 0, 0, dry_run=True)
