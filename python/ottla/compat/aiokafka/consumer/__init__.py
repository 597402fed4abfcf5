"""``AIOKafkaConsumer``."""

from ottla.compat.aiokafka.consumer.consumer import AIOKafkaConsumer

__all__ = ["AIOKafkaConsumer"]
