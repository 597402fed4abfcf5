"""``AIOKafkaProducer``."""

from ottla.compat.aiokafka.producer.producer import AIOKafkaProducer

__all__ = ["AIOKafkaProducer"]
