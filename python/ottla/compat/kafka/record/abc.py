"""The base class of records, which type annotations name."""

from ottla.compat.kafka.consumer.fetcher import ConsumerRecord

__all__ = ["ABCRecord"]

ABCRecord = ConsumerRecord
