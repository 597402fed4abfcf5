"""The producer of kafka-python."""

from ottla.compat.kafka.producer.kafka import KafkaProducer

__all__ = ["KafkaProducer"]
