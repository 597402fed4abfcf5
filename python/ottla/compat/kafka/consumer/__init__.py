"""The consumer of kafka-python."""

from ottla.compat.kafka.consumer.group import KafkaConsumer

__all__ = ["KafkaConsumer"]
