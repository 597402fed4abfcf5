"""The models of ``admin`` look and compare like confluent-kafka's."""

from __future__ import annotations

import enum
import importlib
from typing import Any

import confluent_kafka.admin
import pytest

import ottla.compat.confluent_kafka.admin as stand_in

ENUMERATIONS = [
    "AclOperation",
    "AclPermissionType",
    "AlterConfigOpType",
    "ConfigSource",
    "ResourcePatternType",
    "ResourceType",
    "ScramMechanism",
    "_ConsumerGroupState",
    "_ConsumerGroupType",
    "_ElectionType",
    "_IsolationLevel",
]


def _looks(m: Any) -> list[Any]:
    """Return what programs print, sort and compare of one module's models."""
    binding = m.AclBinding("TOPIC", "t", 3, "User:u", "*", "read", m.AclPermissionType.ALLOW)
    other = m.AclBinding(2, "s", "literal", "User:u", "*", 3, "allow")
    anything = m.AclBindingFilter("any", None, "any", None, None, "any", "any")
    entry = m.ConfigEntry("retention.ms", "5")
    resource = m.ConfigResource("topic", "t", {"retention.ms": "5"})
    resource.set_config("retention.ms", "6", overwrite=False)
    resource.set_config("cleanup.policy", "compact")
    failed = m.ConfigResource("broker", "1", error=m.KafkaError(5))
    earliest, later = m.OffsetSpec.earliest(), m.OffsetSpec.for_timestamp(7)
    cluster, broker = m.ClusterMetadata(), m.BrokerMetadata()
    topic, partition, group = m.TopicMetadata(), m.PartitionMetadata(), m.GroupMetadata()
    return [
        repr(binding),
        repr(anything),
        [each.name for each in sorted([binding, other])],
        binding == m.AclBinding("topic", "t", 3, "User:u", "*", "read", "allow"),
        binding != other,
        len({binding, other, binding}),
        repr(entry),
        str(entry),
        (entry.source.name, entry.is_default, entry.synonyms, entry.incremental_operation),
        repr(resource),
        repr(failed).split(",")[:2],
        (len(resource), bool(m.ConfigResource("topic", "t")), resource.set_config_dict),
        resource == m.ConfigResource(2, "t"),
        hash(resource) == hash(m.ConfigResource("TOPIC", "t")),
        min(m.ConfigResource("topic", "b"), m.ConfigResource("topic", "a")).name,
        m.ConfigResource.Type is m.ResourceType,
        str(m.NewTopic("t")),
        str(m.NewTopic("t", 3)),
        repr(m.NewPartitions("t", 3)),
        (m.NewTopic("a", 1) < m.NewTopic("b", 0), m.NewTopic("a", 1) == m.NewTopic("a", 1, 5)),
        (m.NewTopic("t").num_partitions, m.NewTopic("t").replication_factor),
        (m.NewTopic("t").replica_assignment, m.NewTopic("t").config),
        hash(m.NewTopic("t", 1)) == hash(m.NewTopic("t", 1)),
        earliest < later,
        (m.OffsetSpec(-2) is earliest, m.OffsetSpec(-1) is m.OffsetSpec.latest()),
        (type(m.OffsetSpec(5)).__name__, m.OffsetSpec(5).timestamp),
        (m.OffsetSpec(-3) is m.OffsetSpec.max_timestamp(), isinstance(later, m.OffsetSpec)),
        (m.ListOffsetsResultInfo(1, 2, -1).leader_epoch, m.DeletedRecords(3).low_watermark),
        [repr(each) for each in (cluster, broker, topic, partition, group)],
        [str(each) for each in (cluster, broker, topic, partition, group)],
        [vars(each) for each in (cluster, broker, topic, partition, group, m.GroupMember())],
        m.MemberAssignment(None).topic_partitions,
        vars(m.ConsumerGroupListing("g", True)),
        m.ConsumerGroupListing("g", True, "stable", 1).state.name,
        m.ConsumerGroupListing("g", True, "stable", 1).type.name,
        vars(m.ListConsumerGroupsResult()),
        m.DescribeClusterResult(None, [], "c", ["read"]).authorized_operations[0].name,
        m.TopicDescription("t", None, False, []).authorized_operations,
        m.ConsumerGroupDescription("g", False, [], "", None, None).type.name,
        m.UserScramCredentialUpsertion("u", None, b"p").salt,
    ]


def test_models_look_alike() -> None:
    original, ours = _looks(confluent_kafka.admin), _looks(stand_in)
    for expected, found in zip(original, ours, strict=True):
        assert found == expected


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_have_equal_members(name: str) -> None:
    original: type[enum.Enum] = getattr(confluent_kafka.admin, name)
    ours: type[enum.Enum] = getattr(stand_in, name)
    expected = {member: original[member].value for member in original.__members__}
    assert {member: ours[member].value for member in ours.__members__} == expected
    assert ours.__name__ == original.__name__


def test_all_public_names_exist() -> None:
    typing_names = {"Any", "Dict", "List", "Optional", "Set", "Tuple", "Union"}
    public = {name for name in dir(confluent_kafka.admin) if name[:1].isupper()} - typing_names
    assert public <= set(dir(stand_in))


@pytest.mark.parametrize(
    "name",
    [
        "_acl",
        "_cluster",
        "_config",
        "_group",
        "_listoffsets",
        "_metadata",
        "_records",
        "_resource",
        "_scram",
        "_topic",
    ],
)
def test_modules_that_programs_import_from(name: str) -> None:
    original = importlib.import_module(f"confluent_kafka.admin.{name}")
    ours = importlib.import_module(f"ottla.compat.confluent_kafka.admin.{name}")
    classes = {
        each
        for each, value in vars(original).items()
        if isinstance(value, type) and value.__module__ == original.__name__
    }
    assert classes <= set(vars(ours))


def test_reprs_have_no_password() -> None:
    info = stand_in.ScramCredentialInfo(stand_in.ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = stand_in.UserScramCredentialUpsertion("alice", info, b"a secret", b"and a salt")
    assert "secret" not in repr(upsertion) + str(upsertion)


def test_cimpl_has_the_same_classes() -> None:
    cimpl = importlib.import_module("ottla.compat.confluent_kafka.cimpl")
    assert cimpl.NewTopic is stand_in.NewTopic
    assert cimpl.NewPartitions is stand_in.NewPartitions
