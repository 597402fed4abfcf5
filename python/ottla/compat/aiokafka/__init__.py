"""aiokafka's public modules over ottla: ``import ottla.compat.aiokafka as aiokafka``.

Invariant: names, signatures, defaults and exceptions are aiokafka's; docs/compare lists where the
behaviour differs.
"""

from ottla.compat.aiokafka._version import __version__ as __version__
from ottla.compat.aiokafka.abc import ConsumerRebalanceListener
from ottla.compat.aiokafka.client import AIOKafkaClient
from ottla.compat.aiokafka.consumer import AIOKafkaConsumer
from ottla.compat.aiokafka.errors import ConsumerStoppedError, IllegalOperation
from ottla.compat.aiokafka.producer import AIOKafkaProducer
from ottla.compat.aiokafka.structs import (
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

__all__ = [
    "AIOKafkaClient",
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
]
