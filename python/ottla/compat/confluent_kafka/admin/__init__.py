"""Managing a cluster with confluent-kafka's classes (``confluent_kafka.admin``).

Invariant: names, signatures and results are those of confluent-kafka; the calls are ottla's.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka._constants import (
    CONFIG_SOURCE_DEFAULT_CONFIG,
    CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG,
    CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG,
    CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG,
    CONFIG_SOURCE_GROUP_CONFIG,
    CONFIG_SOURCE_STATIC_BROKER_CONFIG,
    CONFIG_SOURCE_UNKNOWN_CONFIG,
    OFFSET_INVALID,
    RESOURCE_ANY,
    RESOURCE_BROKER,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
    RESOURCE_TRANSACTIONAL_ID,
    RESOURCE_UNKNOWN,
)
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka._model import ConsumerGroupState as _ConsumerGroupState
from ottla.compat.confluent_kafka._model import (
    ConsumerGroupTopicPartitions as _ConsumerGroupTopicPartitions,
)
from ottla.compat.confluent_kafka._model import ConsumerGroupType as _ConsumerGroupType
from ottla.compat.confluent_kafka._model import ElectionType as _ElectionType
from ottla.compat.confluent_kafka._model import IsolationLevel as _IsolationLevel
from ottla.compat.confluent_kafka._model import TopicCollection as _TopicCollection
from ottla.compat.confluent_kafka._topic_partition import TopicPartition as _TopicPartition
from ottla.compat.confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from ottla.compat.confluent_kafka.admin._client import AdminClient
from ottla.compat.confluent_kafka.admin._cluster import DescribeClusterResult
from ottla.compat.confluent_kafka.admin._config import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)
from ottla.compat.confluent_kafka.admin._group import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
)
from ottla.compat.confluent_kafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec
from ottla.compat.confluent_kafka.admin._metadata import (
    BrokerMetadata,
    ClusterMetadata,
    GroupMember,
    GroupMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from ottla.compat.confluent_kafka.admin._new_topics import NewPartitions, NewTopic
from ottla.compat.confluent_kafka.admin._records import DeletedRecords
from ottla.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from ottla.compat.confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from ottla.compat.confluent_kafka.admin._topic import TopicDescription

# Programs import some of these names from here, although they belong to the top module.
__all__ = [
    "CONFIG_SOURCE_DEFAULT_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_BROKER_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_DEFAULT_BROKER_CONFIG",
    "CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG",
    "CONFIG_SOURCE_GROUP_CONFIG",
    "CONFIG_SOURCE_STATIC_BROKER_CONFIG",
    "CONFIG_SOURCE_UNKNOWN_CONFIG",
    "OFFSET_INVALID",
    "RESOURCE_ANY",
    "RESOURCE_BROKER",
    "RESOURCE_GROUP",
    "RESOURCE_TOPIC",
    "RESOURCE_TRANSACTIONAL_ID",
    "RESOURCE_UNKNOWN",
    "AclBinding",
    "AclBindingFilter",
    "AclOperation",
    "AclPermissionType",
    "AdminClient",
    "AlterConfigOpType",
    "BrokerMetadata",
    "ClusterMetadata",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConsumerGroupDescription",
    "ConsumerGroupListing",
    "DeletedRecords",
    "DescribeClusterResult",
    "GroupMember",
    "GroupMetadata",
    "KafkaError",
    "KafkaException",
    "ListConsumerGroupsResult",
    "ListOffsetsResultInfo",
    "MemberAssignment",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "PartitionMetadata",
    "ResourcePatternType",
    "ResourceType",
    "ScramCredentialInfo",
    "ScramMechanism",
    "TopicDescription",
    "TopicMetadata",
    "UserScramCredentialAlteration",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "UserScramCredentialsDescription",
    "_ConsumerGroupState",
    "_ConsumerGroupTopicPartitions",
    "_ConsumerGroupType",
    "_ElectionType",
    "_IsolationLevel",
    "_TopicCollection",
    "_TopicPartition",
]
