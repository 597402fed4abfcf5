"""The names of confluent-kafka's extension module (``confluent_kafka.cimpl``).

Invariant: it defines nothing itself; names of ``admin`` are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from ottla.compat.confluent_kafka._constants import *  # noqa: F403 - a table of numbers
from ottla.compat.confluent_kafka._consumer import Consumer
from ottla.compat.confluent_kafka._kafka_error import (
    ConcurrentModificationException,
    IllegalStateException,
    KafkaError,
    KafkaException,
)
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._partitioners import consistent, fnv1a, murmur2
from ottla.compat.confluent_kafka._producer import Producer
from ottla.compat.confluent_kafka._share_consumer import ShareConsumer
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, Uuid
from ottla.compat.confluent_kafka._versions import libversion, version

__all__ = [
    "ConcurrentModificationException",
    "Consumer",
    "IllegalStateException",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "ShareConsumer",
    "TopicPartition",
    "Uuid",
    "consistent",
    "fnv1a",
    "libversion",
    "murmur2",
    "version",
]

_of_admin = {"NewPartitions", "NewTopic"}


def __getattr__(name: str) -> Any:
    if name in _of_admin:
        return getattr(importlib.import_module("ottla.compat.confluent_kafka.admin"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
