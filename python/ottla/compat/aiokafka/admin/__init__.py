"""``AIOKafkaAdminClient`` and the types of its arguments."""

from ottla.compat.aiokafka.admin.client import AIOKafkaAdminClient
from ottla.compat.aiokafka.admin.new_partitions import NewPartitions
from ottla.compat.aiokafka.admin.new_topic import NewTopic
from ottla.compat.aiokafka.admin.records_to_delete import RecordsToDelete

__all__ = ["AIOKafkaAdminClient", "NewPartitions", "NewTopic", "RecordsToDelete"]
